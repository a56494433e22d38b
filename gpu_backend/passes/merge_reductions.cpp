// After layouts are chosen: both axes become one dimension, and no element leaves its thread.
#include "gpu_backend/passes/merge_reductions.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "gpu_backend/passes/reductions.h"

#include "mlir/IR/OperationSupport.h"

#include <numeric>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The reduction that makes what `outer` takes, for nothing else and by the same function; null if
/// there is none.
tl::ReduceOp mergeable(tl::ReduceOp outer) {
  if (outer.getNumOperands() != 1) // places along one axis are no places along two
    return {};
  auto inner = outer.getOperand(0).getDefiningOp<tl::ReduceOp>();
  const bool fits =
      inner && inner->hasOneUse() && inner->getBlock() == outer->getBlock() &&
      OperationEquivalence::isRegionEquivalentTo(&inner.getCombine(), &outer.getCombine(),
                                                 OperationEquivalence::IgnoreLocations) &&
      isInAnyOrder(inner) && isInAnyOrder(outer) && isAmongThreads(inner);
  return fits ? inner : tl::ReduceOp();
}

/// Has `outer` reduce along the axis of `inner` too.
void merge(tl::ReduceOp inner, tl::ReduceOp outer) {
  OpBuilder builder(outer);
  Value block = inner.getOperand(0);
  auto type = cast<RankedTensorType>(block.getType());
  const auto first = static_cast<int64_t>(inner.getAxis());
  const auto axis = static_cast<int64_t>(outer.getAxis()); // of what `first` is gone from
  // `first` right beside the other axis.
  llvm::SmallVector<int32_t> order(type.getRank());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + first);
  order.insert(order.begin() + (first <= axis ? axis : axis + 1), static_cast<int32_t>(first));
  if (!llvm::is_sorted(order)) {
    const LinearLayout layout =
        transposed(tlg::layoutOf(type), ShapeBits(type.getShape()), llvm::to_vector_of<int>(order));
    llvm::SmallVector<int64_t> shape;
    for (const int32_t dim : order)
      shape.push_back(type.getDimSize(dim));
    type = tlg::withLayout(RankedTensorType::get(shape, type.getElementType()), layout);
    block = tl::TransOp::create(builder, inner.getLoc(), type, block, order);
  }
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[axis] *= shape[axis + 1];
  shape.erase(shape.begin() + axis + 1);
  const auto both = RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  outer->setOperand(0, tl::ReshapeOp::create(builder, inner.getLoc(), both, block));
  inner->erase();
}

} // namespace

void mergeReductions(func::FuncOp function) {
  llvm::SmallVector<tl::ReduceOp> reductions;
  function.walk([&](tl::ReduceOp reduce) { reductions.push_back(reduce); });
  for (tl::ReduceOp outer : reductions) // what makes an operand comes first
    if (tl::ReduceOp inner = mergeable(outer))
      merge(inner, outer);
}

} // namespace blockscope::gpu
