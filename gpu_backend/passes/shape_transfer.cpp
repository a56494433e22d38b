// One place for the element maps of shape ops, used by the layout pass and by the lowering.
#include "gpu_backend/passes/shape_transfer.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/shape_layouts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

ShapeBits bitsOf(Type type) { return ShapeBits(cast<RankedTensorType>(type).getShape()); }

llvm::SmallVector<int> permutationOf(tl::TransOp op) {
  return {op.getOrder().begin(), op.getOrder().end()};
}

llvm::SmallVector<int> inverse(llvm::ArrayRef<int> permutation) {
  llvm::SmallVector<int> result(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation))
    result[from] = static_cast<int>(i);
  return result;
}

bool keepsNumbers(Operation *op) { return isa<tl::ExpandDimsOp, tl::ReshapeOp>(op); }

/// The result of tl.cat has one more bit, at the top of its dimension: 1 in the second operand.
int catBit(tl::CatOp op) {
  const ShapeBits shape = bitsOf(op.getType());
  const int dim = static_cast<int>(op.getDim());
  return shape.shift(dim) + shape.width(dim) - 1;
}

ElementBits insertBit(ElementBits element, int bit) {
  const ElementBits low = (ElementBits{1} << bit) - 1;
  return (element & low) | ((element & ~low) << 1);
}

ElementBits removeBit(ElementBits element, int bit) {
  const ElementBits low = (ElementBits{1} << bit) - 1;
  return (element & low) | ((element >> 1) & ~low);
}

LinearLayout mapped(LinearLayout layout, llvm::function_ref<ElementBits(ElementBits)> map) {
  for (Bases *bases : {&layout.registers, &layout.lanes, &layout.warps})
    for (ElementBits &basis : *bases)
      basis = map(basis);
  return layout;
}

} // namespace

bool keepsLayout(Operation *op) {
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  return tl::isElementwise(op) ||
         isa<tl::InlineAsmOp, tl::InlineAsmVolatileOp, tl::ExternElementwiseVolatileOp, tl::MapOp,
             tl::ScanOp, tl::SortOp>(op);
}

bool isRenaming(Operation *op) { return keepsNumbers(op) || isa<tl::TransOp>(op); }

std::optional<LinearLayout> operandLayout(Operation *op, unsigned operand,
                                          const LinearLayout &result) {
  if (!isa<RankedTensorType>(op->getOperand(operand).getType()))
    return std::nullopt;
  if (keepsLayout(op))
    return result;
  if (keepsNumbers(op))
    return withoutRegisterCopies(result);
  if (auto broadcast = dyn_cast<tl::BroadcastOp>(op))
    return broadcastOperand(result, bitsOf(broadcast.getSource().getType()),
                            bitsOf(broadcast.getType()));
  if (auto trans = dyn_cast<tl::TransOp>(op))
    return transposed(result, bitsOf(trans.getType()), inverse(permutationOf(trans)));
  if (isa<tl::JoinOp>(op))
    return split(result);
  if (isa<tl::SplitOp>(op))
    return joined(result);
  if (auto cat = dyn_cast<tl::CatOp>(op)) {
    const int bit = catBit(cat);
    return withoutRegisterCopies(mapped(result, [&](ElementBits basis) {
      return removeBit(basis & ~(ElementBits{1} << bit), bit);
    }));
  }
  if (isa<tl::GatherOp>(op) && operand == 1)
    return result;
  return std::nullopt;
}

std::optional<LinearLayout> resultLayout(Operation *op, unsigned operand,
                                         const LinearLayout &layout) {
  if (keepsLayout(op) || keepsNumbers(op))
    return layout;
  if (auto broadcast = dyn_cast<tl::BroadcastOp>(op))
    return broadcasted(layout, bitsOf(broadcast.getSource().getType()),
                       bitsOf(broadcast.getType()));
  if (auto trans = dyn_cast<tl::TransOp>(op))
    return transposed(layout, bitsOf(trans.getSource().getType()), permutationOf(trans));
  if (isa<tl::JoinOp>(op))
    return joined(layout);
  if (isa<tl::SplitOp>(op))
    return split(layout);
  if (auto cat = dyn_cast<tl::CatOp>(op)) {
    const int bit = catBit(cat);
    LinearLayout result = mapped(layout, [&](ElementBits basis) { return insertBit(basis, bit); });
    result.registers.push_back(ElementBits{1} << bit);
    return result;
  }
  if (auto reduce = dyn_cast<tl::ReduceOp>(op))
    return sliced(layout, bitsOf(reduce.getOperand(0).getType()),
                  static_cast<int>(reduce.getAxis()));
  if (isa<tl::GatherOp>(op) && operand == 1)
    return layout;
  return std::nullopt;
}

Bases elementMap(Operation *op) {
  Type resultType = op->getResult(0).getType();
  if (auto broadcast = dyn_cast<tl::BroadcastOp>(op))
    return broadcastElements(bitsOf(broadcast.getSource().getType()), bitsOf(resultType));
  if (auto trans = dyn_cast<tl::TransOp>(op))
    return transposedElements(bitsOf(resultType), inverse(permutationOf(trans)));
  Bases map;
  for (int bit = 0; bit < bitsOf(resultType).width(); ++bit)
    map.push_back(ElementBits{1} << bit);
  return map;
}

} // namespace blockscope::gpu
