// Ops that are elementwise keep the place, so that what a mask leaves out of a load is left out of
// what is counted by the same mask, too. Ops that move elements have operands from other places:
// the same one, where they move them alike.
#include "gpu_backend/passes/operand_numbers.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether every element of the result is one of the operand's.
bool movesElements(Operation *op) {
  return isa<tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp, tl::TransOp>(op);
}

/// Says which element of the operand the op takes for a place: that of the same text is the same.
std::string moveOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const auto printShape = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      llvm::interleave(type.getShape(), out, "x");
  };
  out << op->getName() << op->getAttrDictionary() << ' ';
  printShape(op->getOperand(0));
  out << " to ";
  printShape(op->getResult(0));
  return text;
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
  const auto found = place.known.find(value);
  if (found != place.known.end())
    return found->second;
  const Number number = made(place, value);
  place.known[value] = number;
  return number;
}

void OperandNumbers::run(Place &place, scf::ForOp loop) {
  llvm::SmallVector<Number> variables;
  for (Value init : loop.getInitArgs())
    variables.push_back(isNumber(init) ? at(place, init) : Number());
  const uint64_t count = any_(IntegerType::get(loop.getContext(), 32)).bits % (kMostIterations + 1);
  for (uint64_t i = 0; i < count; ++i) {
    for (auto [argument, number] : llvm::zip_equal(loop.getRegionIterArgs(), variables))
      place.known[argument] = number;
    for (auto [number, next] : llvm::zip_equal(variables, loop.getYieldedValues()))
      number = isNumber(next) ? at(place, next) : Number();
    forget(place, loop.getInductionVar());
    loop.getBody()->walk([&](Operation *op) { // other values come in the next iteration
      for (Value result : op->getResults())
        forget(place, result);
    });
  }
  for (auto [result, number] : llvm::zip_equal(loop.getResults(), variables))
    place.known[result] = number;
}

void OperandNumbers::forget(Place &place, Value value) {
  place.known.erase(value);
  for (auto &[move, before] : place.before)
    forget(before, value);
}

Number OperandNumbers::made(Place &place, Value value) {
  Operation *op = value.getDefiningOp();
  const auto anything = [&] { return any_(getElementTypeOrSelf(value.getType())); };
  if (!op)
    return anything();
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && runsLoops_) {
    run(place, loop);
    return place.known.lookup(value);
  }
  if (auto load = dyn_cast<tl::LoadOp>(op)) {
    if (!load.getMask() || at(place, load.getMask()).bits != 0)
      return anything();
    return load.getOther() ? at(place, load.getOther()) : Number();
  }
  if (movesElements(op))
    return at(place.before[moveOf(op)], op->getOperand(0));
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
