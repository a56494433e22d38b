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

/// Vectors of 16 bytes along both; bit i of `alongTo` says whether lane bit i goes along `to`.
std::optional<LinearLayout> ofVectors(Dimension from, Dimension to, int elementBytes, int alongTo,
                                      int64_t warpCount) {
  const int bits = static_cast<int>(llvm::Log2_32(kVectorBytes / elementBytes));
  if (from.left() < bits || to.left() < bits)
    return std::nullopt;
  LinearLayout layout;
  from.take(bits, layout.registers);
  to.take(bits, layout.registers);
  for (int lane = 0; lane < kLaneBits; ++lane) {
    Dimension &dimension = (alongTo >> lane & 1) != 0 ? to : from;
    if (dimension.left() == 0)
      return std::nullopt;
    layout.lanes.push_back(dimension.take());
  }
  return finished(std::move(layout), from, to, warpCount);
}

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
  std::optional<LinearLayout> best;
  int fewest = 0;
  for (int alongTo = 0; alongTo < 1 << kLaneBits; ++alongTo) {
    const std::optional<LinearLayout> layout =
        ofVectors(fromDimension, toDimension, from.elementBytes, alongTo, warpCount);
    if (!layout)
      continue;
    const int wavefronts =
        vectorLoad(*layout, from).wavefronts + vectorStore(*layout, to).wavefronts;
    if (!best || wavefronts < fewest) {
      best = layout;
      fewest = wavefronts;
    }
  }
  return best;
}

} // namespace blockscope::gpu
