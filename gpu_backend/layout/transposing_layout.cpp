// Deals the bits of the two dimensions out to registers, lanes and warps, lowest first.
#include "gpu_backend/layout/transposing_layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace blockscope::gpu {
namespace {

constexpr int kLaneBits = 5, kVectorBytes = 16;

/// The bits of an element's number that count along one dimension, as they follow each other in
/// shared memory.
class Dimension {
public:
  Dimension(const ShapeBits &shape, int dim, const SharedLayout &shared) {
    for (int bit = shape.shift(dim); bit < shape.shift(dim) + shape.width(dim); ++bit)
      bits_.push_back(bit);
    // A swizzle flips lower bits of an offset, too.
    const auto place = [&](int bit) { return llvm::Log2_32(shared.offsets[bit]); };
    llvm::sort(bits_,
               [&](int a, int b) { return std::pair(place(b), a) < std::pair(place(a), b); });
  }

  int left() const { return static_cast<int>(bits_.size()); }
  ElementBits take() { return ElementBits{1} << bits_.pop_back_val(); }
  void take(int count, Bases &bases) {
    for (int i = 0; i < count; ++i)
      bases.push_back(take());
  }

private:
  llvm::SmallVector<int> bits_; ///< that are left, the next one last
};

/// What is left goes to the warps, from the highest bits on, and to further registers.
LinearLayout finished(LinearLayout layout, Dimension from, Dimension to, int64_t warpCount) {
  Bases rest;
  to.take(to.left(), rest);
  from.take(from.left(), rest);
  for (int64_t warps = 1; warps < warpCount; warps *= 2)
    layout.warps.push_back(rest.empty() ? 0 : rest.pop_back_val());
  layout.registers.append(rest);
  return layout;
}

/// A 32-bit register of ldmatrix.trans has two elements along `from` in two rows; two of them make
/// two registers of stmatrix, with four elements along `to` each.
LinearLayout ofMatrices(Dimension from, Dimension to, int64_t warpCount) {
  LinearLayout layout;
  from.take(1, layout.registers);
  to.take(2, layout.registers);
  to.take(2, layout.lanes);
  from.take(3, layout.lanes);
  return finished(std::move(layout), from, to, warpCount);
}

/// 2^`fromBits` and 2^`toBits` neighbours of a thread; bit i of `alongTo` says whether lane bit i
/// goes along `to`.
std::optional<LinearLayout> ofVectors(Dimension from, Dimension to, int fromBits, int toBits,
                                      int alongTo, int64_t warpCount) {
  if (from.left() < fromBits || to.left() < toBits)
    return std::nullopt;
  LinearLayout layout;
  from.take(fromBits, layout.registers);
  to.take(toBits, layout.registers);
  for (int lane = 0; lane < kLaneBits; ++lane) {
    Dimension &dimension = (alongTo >> lane & 1) != 0 ? to : from;
    if (dimension.left() == 0)
      return std::nullopt;
    layout.lanes.push_back(dimension.take());
  }
  return finished(std::move(layout), from, to, warpCount);
}

/// How many bits of an element's number a vector has at most.
int vectorBits(const SharedLayout &shared) {
  return static_cast<int>(llvm::Log2_32(kVectorBytes / shared.elementBytes));
}

/// The layout of fewest wavefronts so far.
struct Best {
  std::optional<LinearLayout> layout;
  int wavefronts = 0;

  /// Tries all orders of the lanes.
  void take(const Dimension &fromDimension, const Dimension &toDimension, int fromBits, int toBits,
            const SharedLayout &from, const SharedLayout &to, int64_t warpCount) {
    for (int alongTo = 0; alongTo < 1 << kLaneBits; ++alongTo) {
      const std::optional<LinearLayout> tried =
          ofVectors(fromDimension, toDimension, fromBits, toBits, alongTo, warpCount);
      if (!tried)
        continue;
      const int needed = vectorLoad(*tried, from).wavefronts + vectorStore(*tried, to).wavefronts;
      if (!layout || needed < wavefronts) {
        layout = tried;
        wavefronts = needed;
      }
    }
  }
};

} // namespace

std::optional<LinearLayout> transposingLayout(llvm::ArrayRef<int64_t> shape,
                                              const SharedLayout &from, const SharedLayout &to,
                                              int toDim, int64_t warpCount) {
  constexpr int kMatrixBits = 4; // 16 elements along both
  const ShapeBits bits(shape);
  const Dimension fromDimension(bits, 1 - toDim, from), toDimension(bits, toDim, to);
  if (from.elementBytes == 1) {
    if (fromDimension.left() < kMatrixBits || toDimension.left() < kMatrixBits)
      return std::nullopt;
    return ofMatrices(fromDimension, toDimension, warpCount);
  }
  Best best;
  best.take(fromDimension, toDimension, vectorBits(from), vectorBits(from), from, to, warpCount);
  return best.layout;
}

std::optional<LinearLayout> layoutBetween(llvm::ArrayRef<int64_t> shape, const SharedLayout &from,
                                          const SharedLayout &to, int toDim, int64_t warpCount) {
  const ShapeBits bits(shape);
  const Dimension fromDimension(bits, 1 - toDim, from), toDimension(bits, toDim, to);
  Best best;
  for (int fromBits = 0; fromBits <= vectorBits(from); ++fromBits)
    for (int toBits = 0; toBits <= vectorBits(to); ++toBits)
      best.take(fromDimension, toDimension, fromBits, toBits, from, to, warpCount);
  return best.layout;
}

} // namespace blockscope::gpu
