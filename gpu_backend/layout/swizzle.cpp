// Builds the shared layout as a basis of the element space, from low to high offset bits.
//
// Low bits: vectors, then what else shares a word of 4 bytes. The rest of a row of 128 bytes: the
// banks. High bits: rows. A phase of an access is free of conflicts when no two of its words differ
// by rows alone. So the row vectors span a common complement of the two subspaces that the phases
// of stores and of loads touch, each first filled up to the size of a row.
#include "gpu_backend/layout/swizzle.h"
#include "gpu_backend/layout/f2_matrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace blockscope::gpu {
namespace {

constexpr int kWordLog2 = 2, kMatrixRowLog2 = 4, kBankRowLog2 = 7; // of bytes

/// Appends those of `candidates` that are independent of `basis`, until it has `size` vectors.
void extend(Bases &basis, llvm::ArrayRef<ElementBits> candidates, int size) {
  f2::Span span(basis);
  for (const ElementBits candidate : candidates) {
    if (static_cast<int>(basis.size()) < size && !span.contains(candidate)) {
      span.add(candidate);
      basis.push_back(candidate);
    }
  }
}

/// Those vectors of `basis` that complete `common` to its span.
Bases differences(const Bases &common, const Bases &basis) {
  f2::Span span(common);
  Bases result;
  llvm::copy_if(basis, std::back_inserter(result), [&](ElementBits v) { return span.add(v); });
  return result;
}

/// One side of the exchange.
struct Side {
  explicit Side(const LinearLayout &layout)
      : registers(f2::independentSubset(layout.registers)), lanes(layout.lanes),
        warps(layout.warps) {}

  Bases threads() const {
    Bases result = lanes;
    llvm::append_range(result, warps);
    return result;
  }

  Bases registers; // independent
  Bases lanes, warps;
  /// How many of the low bits a phase touches, and what else it does.
  int lowBits = 0;
  Bases phase;
};

/// `main` is the side that the goal is for.
class SwizzleBuilder {
public:
  SwizzleBuilder(Side main, Side other, int width, int elementBytes)
      : main_(std::move(main)), other_(std::move(other)), width_(width),
        elementLog2_(static_cast<int>(llvm::Log2_32(elementBytes))) {}

  void chooseVectors(int vectorBytes, int roundBits);
  bool chooseMatrices(bool transposed);

  Bases basis() const {
    const int rowSize = std::min(kBankRowLog2 - elementLog2_, width_);
    const Bases main = touched(main_, other_, rowSize), other = touched(other_, main_, rowSize);
    const Bases rows = rowVectors(main, other);
    Bases result = low_, fixed = low_;
    llvm::append_range(fixed, rows);
    llvm::append_range(result, f2::complement(fixed, width_, main));
    llvm::append_range(result, rows);
    return result;
  }

private:
  int bitsOf(int bytesLog2) const {
    return std::min(std::max(bytesLog2 - elementLog2_, 0), width_);
  }

  /// Words in full, and the lanes of a phase of vectors of the first `vectorBits` low bits.
  void touchByVectors(Side &side, int vectorBits) const {
    side.lowBits = std::max(vectorBits, bitsOf(kWordLog2));
    const int phaseBits = std::max(vectorBits + elementLog2_ - kWordLog2, 0);
    const llvm::ArrayRef<ElementBits> lanes = side.lanes;
    side.phase.assign(lanes.begin(), lanes.end() - phaseBits);
  }

  Bases touched(const Side &side, const Side &other, int rowSize) const;
  Bases rowVectors(const Bases &main, const Bases &other) const;

  Side main_, other_;
  int width_, elementLog2_;
  Bases low_;
};

void SwizzleBuilder::chooseVectors(int vectorBytes, int roundBits) {
  const int most = bitsOf(static_cast<int>(llvm::Log2_32(vectorBytes)));
  Bases shared = f2::intersection(main_.registers, other_.registers);
  shared.resize(shared.size() - std::min<size_t>(shared.size(), roundBits));
  extend(low_, shared, most);
  const int common = static_cast<int>(low_.size());
  // The other side's lanes first: what they flip within a vector makes no conflicts.
  const f2::Span registers(main_.registers);
  Bases inOrder;
  llvm::copy_if(other_.lanes, std::back_inserter(inOrder),
                [&](ElementBits lane) { return registers.contains(lane); });
  extend(low_, inOrder, most);
  extend(low_, main_.registers, most);
  const int vector = static_cast<int>(low_.size());
  // Narrow elements of no vector: those that lanes of both sides reach share words.
  const int word = bitsOf(kWordLog2);
  extend(low_, f2::intersection(main_.lanes, other_.lanes), word);
  extend(low_, other_.lanes, word);
  extend(low_, f2::identity(width_), word);
  touchByVectors(main_, vector);
  touchByVectors(other_, common);
}

bool SwizzleBuilder::chooseMatrices(bool transposed) {
  const llvm::ArrayRef<ElementBits> lanes = main_.lanes, registers = main_.registers;
  const size_t pack = std::max(kWordLog2 - elementLog2_, 0);
  if (lanes.size() != 5 || registers.size() < pack || elementLog2_ > kWordLog2)
    return false;
  if (transposed) {
    if (pack != 1)
      return false;
    low_.assign(lanes.begin() + 2, lanes.end());
    main_.phase = {registers[0], lanes[0], lanes[1]};
  } else {
    low_.assign(registers.begin(), registers.begin() + pack);
    low_.append({lanes[0], lanes[1]});
    main_.phase.assign(lanes.begin() + 2, lanes.end());
  }
  main_.lowBits = kMatrixRowLog2 - elementLog2_;
  if (f2::rank(low_) != static_cast<int>(low_.size()))
    return false;
  const f2::Span others(other_.registers);
  const auto *end = llvm::find_if(low_, [&](ElementBits v) { return !others.contains(v); });
  touchByVectors(other_, static_cast<int>(end - low_.begin()));
  return true;
}

/// What one phase of a side touches, filled up to a row of the banks.
Bases SwizzleBuilder::touched(const Side &side, const Side &other, int rowSize) const {
  Bases result(low_.begin(), low_.begin() + std::min<size_t>(low_.size(), side.lowBits));
  for (const Bases *candidates : {&side.phase, &side.registers, &side.lanes, &other.lanes})
    extend(result, *candidates, rowSize);
  extend(result, f2::identity(width_), rowSize);
  return result;
}

Bases SwizzleBuilder::rowVectors(const Bases &main, const Bases &other) const {
  const Bases common = f2::intersection(main, other);
  const Bases onlyMain = differences(common, main);
  // A vector must not contain bits that its own threads flip. The main side's basis begins with its
  // vectors, so what its threads do not reach is paired first.
  const f2::Span reached(main_.threads());
  Bases onlyOther, later;
  for (const ElementBits vector : differences(common, other))
    (reached.contains(vector) ? later : onlyOther).push_back(vector);
  llvm::append_range(onlyOther, later);

  Bases rows, both = other;
  for (size_t i = 0; i < onlyMain.size(); ++i) {
    rows.push_back(onlyMain[i] ^ onlyOther[i]);
    both.push_back(onlyMain[i]);
  }
  // Threads before registers: then the highest bits, which count rounds, are the same in all
  // threads.
  Bases threads = other_.threads();
  llvm::append_range(threads, main_.threads());
  llvm::append_range(rows, f2::complement(both, width_, threads));
  return rows;
}

} // namespace

std::optional<SharedLayout> swizzleBetween(const LinearLayout &source,
                                           const LinearLayout &destination, int width,
                                           int elementBytes, const SwizzleGoal &goal) {
  const Side store(source), load(destination);
  SwizzleBuilder builder(goal.forLoad ? load : store, goal.forLoad ? store : load, width,
                         elementBytes);
  switch (goal.access) {
  case SwizzleGoal::Access::Vectors:
    builder.chooseVectors(goal.vectorBytes, goal.roundBits);
    break;
  case SwizzleGoal::Access::Matrices:
  case SwizzleGoal::Access::TransposedMatrices:
    if (!builder.chooseMatrices(goal.access == SwizzleGoal::Access::TransposedMatrices))
      return std::nullopt;
    break;
  }
  SharedLayout shared{*f2::inverse(builder.basis()), elementBytes};
  for (ElementBits &offset : shared.offsets)
    offset *= elementBytes;
  return shared;
}

} // namespace blockscope::gpu
