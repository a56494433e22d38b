// Looks for ops that move elements between lanes, of what memory holds.
#include "interpreter/flat/exchanges.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::interpreter::flat {
namespace {

bool isBlock(mlir::Value value) { return mlir::isa<mlir::RankedTensorType>(value.getType()); }

/// Whether a value is made of numbers that every thread computes by itself.
bool isIndex(mlir::Value value) {
  llvm::SmallVector<mlir::Value, 8> open = {value};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    mlir::Operation *op = next.getDefiningOp();
    if (!op && isBlock(next))
      return false;
    if (!op)
      continue;
    const OpFacts *facts = tl::factsOf(op);
    if (!facts || facts->memory != OpMemory::None || op->getNumRegions() != 0)
      return false;
    open.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

bool exchanges(mlir::Operation *op) {
  const OpFacts *facts = tl::factsOf(op);
  if (!facts)
    return false; // control flow
  switch (facts->family) {
  case OpFamily::Elementwise:
  case OpFamily::Math:
  case OpFamily::Casts:
  case OpFamily::ExternLibdevice:
  case OpFamily::Debug:
  case OpFamily::Memory:
    return false;
  case OpFamily::Atomics:
    return op->getNumResults() > 0 && !op->use_empty();
  case OpFamily::Shape:
    return !llvm::all_of(op->getOperands(),
                         [](mlir::Value each) { return !isBlock(each) || isIndex(each); });
  default:
    return true;
  }
}

} // namespace

bool mayExchange(mlir::func::FuncOp function) {
  return function
      .walk([](mlir::Operation *op) {
        return exchanges(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace blockscope::interpreter::flat
