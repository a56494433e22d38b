// Follows a value forwards, through arithmetic and through what loops and branches hand on.
#include "interpreter/flat/result_use.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::interpreter::flat {
namespace {

class Walk {
public:
  bool mayDecide(mlir::Value value) {
    push(value);
    while (!open_.empty())
      for (mlir::OpOperand &use : open_.pop_back_val().getUses())
        if (decidesAt(use))
          return true;
    return false;
  }

private:
  void push(mlir::Value value) {
    if (seen_.insert(value).second)
      open_.push_back(value);
  }

  void pushAll(mlir::ValueRange values) {
    for (const mlir::Value value : values)
      push(value);
  }

  bool decidesAt(mlir::OpOperand &use) {
    mlir::Operation *op = use.getOwner();
    const unsigned number = use.getOperandNumber();
    if (auto store = mlir::dyn_cast<tl::StoreOp>(op))
      return use.get() == store.getPointer() || use.get() == store.getMask();
    if (mlir::isa<tl::PrintOp>(op))
      return false;
    if (auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op);
        select && use.get() == select.getCondition())
      return true;
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op)) {
      const unsigned bounds = loop.getNumControlOperands();
      if (number < bounds)
        return true;
      push(loop.getResult(number - bounds));
      push(loop.getRegionIterArg(number - bounds));
      return false;
    }
    if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op)) {
      push(loop.getBeforeArguments()[number]);
      return false;
    }
    if (auto condition = mlir::dyn_cast<mlir::scf::ConditionOp>(op)) {
      if (number == 0)
        return true;
      auto loop = mlir::cast<mlir::scf::WhileOp>(op->getParentOp());
      push(loop.getAfterArguments()[number - 1]);
      push(loop.getResult(number - 1));
      return false;
    }
    if (mlir::isa<mlir::scf::YieldOp>(op))
      return decidesAtYield(op->getParentOp(), number);
    const OpFacts *facts = tl::factsOf(op);
    if (!facts || facts->memory != OpMemory::None || facts->family == OpFamily::InlineAsm)
      return true;
    pushAll(op->getResults());
    return false;
  }

  bool decidesAtYield(mlir::Operation *parent, unsigned number) {
    if (auto choice = mlir::dyn_cast<mlir::scf::IfOp>(parent)) {
      push(choice.getResult(number));
    } else if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent)) {
      push(loop.getResult(number));
      push(loop.getRegionIterArg(number));
    } else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(parent)) {
      push(loop.getBeforeArguments()[number]);
    } else {
      return true;
    }
    return false;
  }

  llvm::SmallVector<mlir::Value, 8> open_;
  llvm::DenseSet<mlir::Value> seen_;
};

} // namespace

ResultUse useOf(mlir::Value result) {
  if (result.use_empty())
    return ResultUse::None;
  return Walk().mayDecide(result) ? ResultUse::Decides : ResultUse::Data;
}

} // namespace blockscope::interpreter::flat
