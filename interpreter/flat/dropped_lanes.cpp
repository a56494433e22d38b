// Follows a load forwards, lane by lane.
#include "interpreter/flat/dropped_lanes.h"

#include "core/ir/facts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace blockscope::interpreter::flat {
namespace {

/// Whether `condition` is false wherever `mask` is.
bool implies(mlir::Value condition, mlir::Value mask) {
  if (condition == mask)
    return true;
  auto both = condition.getDefiningOp<mlir::arith::AndIOp>();
  return both && (implies(both.getLhs(), mask) || implies(both.getRhs(), mask));
}

bool isGuarded(mlir::Value condition, mlir::Value mask) {
  return condition && implies(condition, mask);
}

class Walk {
public:
  explicit Walk(mlir::Value mask) : mask_(mask) {}

  bool drops(mlir::Value loaded) {
    push(loaded);
    while (!open_.empty())
      for (mlir::OpOperand &use : open_.pop_back_val().getUses())
        if (!dropsAt(use))
          return false;
    return true;
  }

private:
  void push(mlir::Value value) {
    if (seen_.insert(value).second)
      open_.push_back(value);
  }

  bool dropsAt(mlir::OpOperand &use) {
    mlir::Operation *op = use.getOwner();
    if (auto select = mlir::dyn_cast<mlir::arith::SelectOp>(op))
      if (use.get() == select.getTrueValue() && use.get() != select.getFalseValue() &&
          use.get() != select.getCondition() && isGuarded(select.getCondition(), mask_))
        return true;
    // A mask that the load's mask is part of is false there, whatever the rest of it is.
    if (auto both = mlir::dyn_cast<mlir::arith::AndIOp>(op))
      if (isGuarded(both.getResult(), mask_))
        return true;
    const mlir::Value guard =
        llvm::TypeSwitch<mlir::Operation *, mlir::Value>(op)
            .Case<tl::LoadOp, tl::StoreOp, tl::AtomicRmwOp, tl::AtomicLoadOp, tl::AtomicStoreOp>(
                [](auto access) { return access.getMask(); })
            .Default(mlir::Value());
    if (guard) {
      auto load = mlir::dyn_cast<tl::LoadOp>(op);
      const bool isOther = load && load.getOther() == use.get();
      return !isOther && isGuarded(guard, mask_);
    }
    const OpFacts *facts = tl::factsOf(op);
    if (!facts || !facts->isElementwise)
      return false;
    for (const mlir::Value result : op->getResults())
      push(result);
    return true;
  }

  mlir::Value mask_;
  llvm::DenseSet<mlir::Value> seen_;
  llvm::SmallVector<mlir::Value, 8> open_;
};

} // namespace

bool dropsMaskedLanes(tl::LoadOp load) {
  return load.getMask() && Walk(load.getMask()).drops(load.getResult());
}

} // namespace blockscope::interpreter::flat
