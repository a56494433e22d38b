// `offsets += BLOCK` at the end of an iteration: the block that is carried becomes the one from
// before the loop, plus a scalar that grows by BLOCK.
//
// It comes before layouts. A block that is carried has one layout, and is converted in each
// iteration for whoever wants another one, through shared memory; and each thread keeps its
// elements in registers, once for each iteration that a ring is ahead.
#include "gpu_backend/passes/scalar_steps.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The scalar that every element of a block is; null when there is none. A constant is made before
/// `loop`.
Value scalarOf(Value block, scf::ForOp loop) {
  Operation *op = block.getDefiningOp();
  while (isa_and_nonnull<tl::BroadcastOp, tl::ExpandDimsOp>(op))
    op = op->getOperand(0).getDefiningOp();
  if (auto splat = dyn_cast_or_null<tl::SplatOp>(op))
    return splat.getSource();
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  auto equal = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!equal)
    return {};
  OpBuilder builder(loop);
  return arith::ConstantOp::create(builder, op->getLoc(),
                                   cast<TypedAttr>(equal.getSplatValue<Attribute>()));
}

/// What an iteration does to the block that it is given: adds a scalar to it, or subtracts one.
struct Step {
  Operation *op = nullptr;
  Value scalar;
};

Step stepOf(BlockArgument carried, Value yielded, scf::ForOp loop) {
  Operation *op = yielded.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return {};
  const bool isFirst = op->getOperand(0) == carried;
  if (!isFirst && (op->getOperand(1) != carried || isa<arith::SubIOp>(op)))
    return {};
  return {op, scalarOf(op->getOperand(isFirst ? 1 : 0), loop)};
}

/// `initial` plus a scalar, made where the builder stands.
Value shifted(OpBuilder &builder, Location where, Value initial, Value scalar) {
  Value step = tl::SplatOp::create(builder, where, initial.getType(), scalar);
  return arith::AddIOp::create(builder, where, initial, step);
}

void carryScalar(scf::ForOp loop, unsigned number, Step step) {
  BlockArgument carried = loop.getRegionIterArg(number);
  Value initial = loop.getInitArgs()[number], result = loop.getResult(number);
  Operation *yield = loop.getBody()->getTerminator();
  const Type scalar = step.scalar.getType();
  const Location where = step.op->getLoc();

  OpBuilder builder(loop);
  loop.getInitArgsMutable()[number].set(
      arith::ConstantOp::create(builder, where, builder.getZeroAttr(scalar)));

  llvm::SmallVector<OpOperand *> uses;
  for (OpOperand &use : carried.getUses())
    uses.push_back(&use);
  carried.setType(scalar);
  builder.setInsertionPointToStart(loop.getBody());
  Value block = shifted(builder, where, initial, carried);
  for (OpOperand *use : uses)
    use->set(block);

  builder.setInsertionPoint(yield);
  Value next = isa<arith::AddIOp>(step.op)
                   ? Value(arith::AddIOp::create(builder, where, carried, step.scalar))
                   : Value(arith::SubIOp::create(builder, where, carried, step.scalar));
  yield->setOperand(number, next);
  if (step.op->use_empty())
    step.op->erase();

  uses.clear();
  for (OpOperand &use : result.getUses())
    uses.push_back(&use);
  result.setType(scalar);
  if (uses.empty())
    return;
  builder.setInsertionPointAfter(loop);
  Value last = shifted(builder, where, initial, result);
  for (OpOperand *use : uses)
    use->set(last);
}

} // namespace

void carryStepsAsScalars(func::FuncOp function) {
  function.walk([](scf::ForOp loop) {
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      BlockArgument carried = loop.getRegionIterArg(i);
      const auto type = dyn_cast<RankedTensorType>(carried.getType());
      if (!type || !type.getElementType().isInteger())
        continue;
      const Step step = stepOf(carried, loop.getYieldedValues()[i], loop);
      if (step.scalar)
        carryScalar(loop, i, step);
    }
  });
}

} // namespace blockscope::gpu
