// Copies of ops, and of constants, whose values have the type in them too.
#include "gpu_backend/passes/clone_in_layout.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscope::gpu {

Value convertedFrom(Value value) {
  while (auto conversion = value.getDefiningOp<tlg::ConvertLayoutOp>())
    value = conversion.getSource();
  return value;
}

bool isSplat(Operation *op) {
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  return isa_and_nonnull<tl::SplatOp>(op) ||
         (constant && isa<SplatElementsAttr>(constant.getValue()));
}

Value cloneInLayout(OpBuilder &builder, Operation *op, IRMapping &made,
                    const LinearLayout &layout) {
  Operation *copy = builder.clone(*op, made);
  const Type type = tlg::withLayout(copy->getResult(0).getType(), layout);
  copy->getResult(0).setType(type);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(SplatElementsAttr::get(
        cast<ShapedType>(type),
        cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
  return copy->getResult(0);
}

Value madeInLayout(Value value, const LinearLayout &layout,
                   llvm::function_ref<bool(Operation *)> isMadeAgain) {
  for (Value from : {value, convertedFrom(value)})
    if (tlg::layoutOf(from.getType()) == layout)
      return from;
  Operation *op = value.getDefiningOp();
  if (auto conversion = dyn_cast_if_present<tlg::ConvertLayoutOp>(op);
      conversion && isMadeAgain(op))
    return madeInLayout(conversion.getSource(), layout, isMadeAgain);
  IRMapping made;
  const bool isMade = op && isMadeAgain(op);
  if (isMade)
    for (OpOperand &operand : op->getOpOperands())
      if (isBlock(operand.get()))
        made.map(operand.get(),
                 madeInLayout(operand.get(), *operandLayout(op, operand.getOperandNumber(), layout),
                              isMadeAgain));
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  if (isMade)
    return cloneInLayout(builder, op, made, layout);
  return tlg::ConvertLayoutOp::create(builder, value.getLoc(),
                                      tlg::withLayout(value.getType(), layout), value);
}

void eraseUnused(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace blockscope::gpu
