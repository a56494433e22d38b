// Blocks without the bits of their runs, and back.
#include "gpu_backend/passes/equal_runs.h"

#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/passes/shared_operands.h"

#include <algorithm>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The bits of an element's number that count within runs.
ElementBits bitsOfRuns(llvm::ArrayRef<int64_t> runs, const ShapeBits &shape) {
  ElementBits bits = 0;
  for (auto [dim, run] : llvm::enumerate(runs))
    bits |= (static_cast<ElementBits>(run) - 1) << shape.shift(static_cast<int>(dim));
  return bits;
}

/// For each bit of the block without the bits `equal` its bit in the block.
Bases differentBits(const ShapeBits &shape, ElementBits equal) {
  Bases bits;
  for (int bit = 0; bit < shape.width(); ++bit)
    if ((equal >> bit & 1) == 0)
      bits.push_back(ElementBits{1} << bit);
  return bits;
}

} // namespace

llvm::SmallVector<int64_t, 3> equalRuns(tl::LoadOp load, const AxisAnalysis &axes) {
  const llvm::ArrayRef<int64_t> shape =
      cast<RankedTensorType>(load.getPointer().getType()).getShape();
  llvm::SmallVector<int64_t, 3> runs(shape);
  const auto limit = [&](Value value) {
    if (!value || !isa<RankedTensorType>(value.getType()))
      return;
    for (auto [run, dim] : llvm::zip(runs, axes.at(value).dims))
      run = std::min(run, dim.constancy);
  };
  limit(load.getPointer());
  limit(load.getMask());
  if (hasOther(load))
    limit(load.getOther());
  if (load.getIsVolatile()) // each element is asked for
    runs.assign(shape.size(), 1);
  return runs;
}

llvm::SmallVector<int64_t, 3> commonRuns(llvm::ArrayRef<Operation *> accesses,
                                         const AxisAnalysis &axes) {
  const auto type = cast<RankedTensorType>(accesses.front()->getOperand(0).getType());
  llvm::SmallVector<int64_t, 3> runs(type.getRank(), 1);
  for (Operation *op : accesses)
    if (auto load = dyn_cast<tl::LoadOp>(op))
      for (auto [run, own] : llvm::zip_equal(runs, equalRuns(load, axes)))
        run = std::max(run, own);
  return runs;
}

LinearLayout blockedForRuns(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                            int64_t vector, int64_t warpCount, llvm::ArrayRef<int64_t> runs,
                            int64_t rows, int64_t least) {
  const ShapeBits bits(shape);
  // A vector of different elements for each thread; what is over goes to the runs.
  int64_t share = std::max<int64_t>((int64_t{1} << bits.width()) / (32 * warpCount * vector), 1);
  llvm::SmallVector<int64_t, 3> taken(shape.size(), 1);
  for (auto [dim, run] : llvm::enumerate(runs)) {
    taken[dim] = std::min(run, share);
    share /= taken[dim];
  }
  const ElementBits equal = bitsOfRuns(taken, bits);
  const bool hasRuns = equal != 0;
  LinearLayout layout = blockedForAccess(shapeWithout(bits, equal), order, vector, warpCount,
                                         hasRuns ? 1 : rows, hasRuns ? 1 : least);
  const Bases different = differentBits(bits, equal);
  for (Bases *bases : {&layout.registers, &layout.lanes, &layout.warps})
    for (ElementBits &basis : *bases)
      basis = combine(different, basis);
  for (int bit = 0; bit < bits.width(); ++bit)
    if ((equal >> bit & 1) != 0)
      layout.registers.push_back(ElementBits{1} << bit);
  return layout;
}

ElementBits equalBits(Operation *op, const ShapeBits &shape) {
  const auto runs = op->getAttrOfType<DenseI32ArrayAttr>(tlg::kEqualRunsAttribute);
  return runs ? bitsOfRuns(llvm::SmallVector<int64_t, 3>(runs.asArrayRef()), shape) : 0;
}

llvm::SmallVector<int64_t, 3> shapeWithout(const ShapeBits &shape, ElementBits equal) {
  llvm::SmallVector<int64_t, 3> sizes;
  for (int dim = 0; dim < shape.rank(); ++dim)
    sizes.push_back(int64_t{1} << (shape.width(dim) - llvm::popcount(equal & shape.mask(dim))));
  return sizes;
}

SharedLayout sharedForRuns(const SharedLayout &different, const ShapeBits &shape,
                           ElementBits equal) {
  SharedLayout layout{Bases(shape.width(), 0), different.elementBytes};
  for (auto [offset, bit] : llvm::zip_equal(different.offsets, differentBits(shape, equal)))
    layout.offsets[llvm::countr_zero(bit)] = offset;
  return layout;
}

} // namespace blockscope::gpu
