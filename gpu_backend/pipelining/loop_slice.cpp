// Backward walk from a value to the loop's variables, and through what they become.
#include "gpu_backend/pipelining/loop_slice.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Divisions are pure but where the divisor is zero.
bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

/// Divides by one where there is no iteration: the loop would not have divided.
void makeSafe(OpBuilder &builder, Operation *division, Value exists) {
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(division);
  Value divisor = division->getOperand(1);
  const Type type = divisor.getType();
  const Attribute number = builder.getIntegerAttr(getElementTypeOrSelf(type), 1);
  const auto shaped = dyn_cast<ShapedType>(type);
  Value one = arith::ConstantOp::create(
      builder, division->getLoc(),
      shaped ? cast<TypedAttr>(DenseElementsAttr::get(shaped, number)) : cast<TypedAttr>(number));
  division->setOperand(1,
                       arith::SelectOp::create(builder, division->getLoc(), exists, divisor, one));
}

} // namespace

bool LoopSlice::add(scf::ForOp loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
      return !loop->isProperAncestor(argument.getOwner()->getParentOp());
    const unsigned variable = argument.getArgNumber() - 1;
    return !variables.insert(variable) || add(loop, loop.getYieldedValues()[variable]);
  }
  Operation *op = value.getDefiningOp();
  if (!loop->isProperAncestor(op))
    return true;
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0)
    return false;
  if (auto load = dyn_cast<tl::LoadOp>(op)) {
    loads.insert(op);
    return !load.getIsVolatile();
  }
  if (!isPure(op) && !isDivision(op))
    return false;
  return !ops.insert(op) ||
         llvm::all_of(op->getOperands(), [&](Value operand) { return add(loop, operand); });
}

bool LoopSlice::addOperandsOf(scf::ForOp loop, tl::LoadOp load) {
  return llvm::all_of(load->getOperands(), [&](Value operand) { return add(loop, operand); });
}

void LoopSlice::clone(OpBuilder &builder, scf::ForOp loop, IRMapping &mapping,
                      const Iteration &iteration) const {
  mapping.map(loop.getInductionVar(), iteration.counter);
  const bool isInLoop = builder.getInsertionBlock() == loop.getBody();
  llvm::SmallVector<Operation *> inOrder;
  for (Operation &op : loop.getBody()->without_terminator())
    if (ops.contains(&op))
      inOrder.push_back(&op);
  for (Operation *op : inOrder) {
    Operation *made = builder.clone(*op, mapping);
    // What the iterations divide by in common, this one has divided by; ptxas takes its reciprocal
    // before the loop.
    const bool isSafe = isPure(op) || (isInLoop && loop.isDefinedOutsideOfLoop(op->getOperand(1)));
    if (iteration.exists && !isSafe)
      makeSafe(builder, made, iteration.exists);
  }
}

} // namespace blockscope::gpu
