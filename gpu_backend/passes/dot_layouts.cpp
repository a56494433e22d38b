// Chooses between the tensor cores and plain multiplication.
#include "gpu_backend/passes/dot_layouts.h"

#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/mma_layouts.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The layout of an operand whose threads hold all of K for the rows (or columns) of their part of
/// the accumulator. `dim` is the accumulator's dimension that the operand has, `kDim` the other's.
LinearLayout wholeDepth(const LinearLayout &accumulator, llvm::ArrayRef<int64_t> accumulatorShape,
                        llvm::ArrayRef<int64_t> shape, int dim, int kDim) {
  const ShapeBits from(accumulatorShape), to(shape);
  const int rank = from.rank();
  const auto move = [&](ElementBits basis) {
    ElementBits moved = from.coordinate(basis, dim) << to.shift(dim);
    for (int batch = 0; batch < rank - 2; ++batch)
      moved |= from.coordinate(basis, batch) << to.shift(batch);
    return moved;
  };
  LinearLayout result = accumulator;
  for (Bases *bases : {&result.registers, &result.lanes, &result.warps})
    for (ElementBits &basis : *bases)
      basis = move(basis);
  result = withoutRegisterCopies(result);
  for (int bit = 0; bit < to.width(kDim); ++bit)
    result.registers.push_back(ElementBits{1} << (to.shift(kDim) + bit));
  return result;
}

/// Whether the result of `dot` goes, through other ops, into the first operand of another product:
/// then the warps lie along M, so that rows stay in their warp.
bool feedsDot(tl::DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Operation *> open{dot};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    for (Operation *user : op->getUsers()) {
      if (auto other = dyn_cast<tl::DotOp>(user)) {
        if (other != dot && other.getA().getDefiningOp() == op)
          return true;
        continue;
      }
      if (user->getBlock() == dot->getBlock() && user->getNumResults() != 0 &&
          seen.insert(user).second)
        open.push_back(user);
    }
  }
  return false;
}

bool isFedByDot(tl::DotOp dot) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{dot.getA()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != dot->getBlock() || !seen.insert(op).second)
      continue;
    if (isa<tl::DotOp>(op))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

MmaWarps splitWarps(llvm::ArrayRef<int64_t> shape, int numWarps, bool alongRows) {
  MmaWarps warps;
  const size_t rank = shape.size();
  int left = numWarps;
  if (rank == 3)
    while (left > 1 && warps.batch < shape[0]) {
      warps.batch *= 2;
      left /= 2;
    }
  const int64_t m = shape[rank - 2], n = shape[rank - 1];
  while (left > 1) {
    const int64_t rows = m / (16 * warps.m), columns = n / (8 * warps.n);
    if (rows > 1 && (alongRows || rows * 2 >= columns || columns <= 1))
      warps.m *= 2;
    else if (columns > 1)
      warps.n *= 2;
    else
      warps.m *= 2; // copies
    left /= 2;
  }
  return warps;
}

} // namespace

DotLayouts chooseDotLayouts(tl::DotOp dot, const GpuTarget &target, int numWarps) {
  const llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  const llvm::ArrayRef<int64_t> aShape = cast<RankedTensorType>(dot.getA().getType()).getShape();
  const llvm::ArrayRef<int64_t> bShape = cast<RankedTensorType>(dot.getB().getType()).getShape();
  const int rank = static_cast<int>(shape.size());
  DotLayouts layouts;
  const Type element = cast<RankedTensorType>(dot.getA().getType()).getElementType();
  const bool halves =
      (element.isF16() || element.isBF16()) && dot.getType().getElementType().isF32();
  if (target.capability >= 80 && halves && aShape[rank - 1] >= 16 && shape[rank - 2] >= 16 &&
      shape[rank - 1] >= 8) {
    const MmaWarps warps = splitWarps(shape, numWarps, feedsDot(dot) || isFedByDot(dot));
    layouts.kind = DotKind::Mma;
    layouts.accumulator = mmaAccumulator(shape, 2, warps);
    layouts.a = mmaOperandA(aShape, 2, warps);
    layouts.b = mmaOperandB(bShape, 2, warps);
    return layouts;
  }
  llvm::SmallVector<int> order(rank);
  for (int i = 0; i < rank; ++i)
    order[i] = rank - 1 - i;
  layouts.accumulator = blockedForAccess(shape, order, 1, numWarps);
  layouts.a = wholeDepth(layouts.accumulator, shape, aShape, rank - 2, rank - 1);
  layouts.b = wholeDepth(layouts.accumulator, shape, bShape, rank - 1, rank - 2);
  return layouts;
}

} // namespace blockscope::gpu
