// Ops that are elementwise keep the place, so that what a mask leaves out of a load is left out of
// what is counted by the same mask, too. Ops that move elements have operands from other places,
// for which values are taken anew.
#include "gpu_backend/passes/operand_numbers.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether every element of the result is one of the operand's.
bool movesElements(Operation *op) {
  return isa<tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp, tl::TransOp>(op);
}

bool isNumber(Value value) { return getElementTypeOrSelf(value.getType()).isIntOrIndexOrFloat(); }

} // namespace

llvm::SmallVector<Number> OperandNumbers::next() {
  Place place;
  llvm::SmallVector<Number> numbers;
  for (Value operand : operands_)
    numbers.push_back(at(place, operand));
  return numbers;
}

Number OperandNumbers::at(Place &place, Value value) {
  const auto found = place.find(value);
  if (found != place.end())
    return found->second;
  const Number number = made(place, value);
  place[value] = number;
  return number;
}

Number OperandNumbers::made(Place &place, Value value) {
  Operation *op = value.getDefiningOp();
  const auto anything = [&] { return any_(getElementTypeOrSelf(value.getType())); };
  if (!op)
    return anything();
  if (auto load = dyn_cast<tl::LoadOp>(op)) {
    if (!load.getMask() || at(place, load.getMask()).bits != 0)
      return anything();
    return load.getOther() ? at(place, load.getOther()) : Number();
  }
  if (movesElements(op)) {
    Place other;
    return at(other, op->getOperand(0));
  }
  if (isa<tl::FpCastOp>(op)) // rounds, which is the same for all that follows
    return at(place, op->getOperand(0));
  const bool isKnown = (isa<arith::ConstantOp>(op) || tl::isElementwise(op)) &&
                       op->getNumResults() == 1 && op->getNumRegions() == 0 &&
                       !isa<arith::CmpIOp>(op) && // either way, whatever the numbers are
                       llvm::all_of(op->getOperands(), isNumber);
  if (!isKnown)
    return anything();
  llvm::SmallVector<Number> operands;
  for (Value operand : op->getOperands())
    operands.push_back(at(place, operand));
  const std::optional<Number> result = evaluated(*op, operands);
  return result ? *result : anything();
}

} // namespace blockscope::gpu
