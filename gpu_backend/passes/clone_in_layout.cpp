// Copies of ops, and of constants, whose values have the type in them too.
#include "gpu_backend/passes/clone_in_layout.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace blockscope::gpu {

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

void eraseUnused(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace blockscope::gpu
