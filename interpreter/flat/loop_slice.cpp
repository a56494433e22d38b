// Goes from a loop's condition back to what it is made of.
#include "interpreter/flat/loop_slice.h"

#include "core/ir/facts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace blockscope::interpreter::flat {
namespace {

bool isInKernelItself(mlir::Operation *op) {
  while (op->getDialect() && op->getDialect()->getNamespace() == "scf")
    op = op->getParentOp();
  return mlir::isa<mlir::func::FuncOp>(op);
}

/// Whether an op sees nothing but memory, and where it changes memory, does so with every change
/// counted (LaunchState::progress).
bool seesMemoryAlone(mlir::Operation *op) {
  const OpFacts *facts = tl::factsOf(op);
  if (!facts)
    return true; // control flow
  if (auto load = mlir::dyn_cast<tl::LoadOp>(op))
    return !load.getIsVolatile();
  return facts->memory != OpMemory::Orders && facts->family != OpFamily::InlineAsm;
}

class Slice {
public:
  explicit Slice(mlir::scf::WhileOp loop) : loop_(loop) {}

  LoopSlice of(mlir::Value condition) {
    push(condition);
    while (!open_.empty())
      follow(open_.pop_back_val());
    LoopSlice slice;
    for (const auto &[i, argument] : llvm::enumerate(loop_.getBeforeArguments()))
      if (seen_.contains(argument))
        slice.carried.push_back(static_cast<unsigned>(i));
    loop_.walk([&](mlir::Operation *op) {
      const OpFacts *all = tl::factsOf(op);
      slice.hasAtomics |= all && all->isAtomic();
      slice.changesMemory |= all && (all->isAtomic() || all->writes());
      const OpFacts *facts = ops_.contains(op) ? tl::factsOf(op) : nullptr;
      if (!facts || !facts->reads())
        return;
      slice.readsMemory = true;
      if (op->getParentOp() == loop_)
        slice.lastRead = op;
    });
    return slice;
  }

private:
  void push(mlir::Value value) {
    if (loop_->isAncestor(value.getParentRegion()->getParentOp()) && seen_.insert(value).second)
      open_.push_back(value);
  }

  void follow(mlir::Value value) {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
      const unsigned number = argument.getArgNumber();
      if (argument.getOwner() == loop_.getBeforeBody())
        push(loop_.getAfterBody()->getTerminator()->getOperand(number));
      else if (argument.getOwner() == loop_.getAfterBody())
        push(loop_.getConditionOp().getArgs()[number]);
      return; // of inner regions: all that these use is pushed
    }
    mlir::Operation *op = value.getDefiningOp();
    op->walk([&](mlir::Operation *inner) {
      ops_.insert(inner);
      for (const mlir::Value operand : inner->getOperands())
        push(operand);
    });
  }

  mlir::scf::WhileOp loop_;
  llvm::SmallVector<mlir::Value, 8> open_;
  llvm::DenseSet<mlir::Value> seen_;
  llvm::DenseSet<mlir::Operation *> ops_;
};

std::optional<LoopSlice::Count> countOf(mlir::scf::WhileOp loop) {
  const auto isFixed = [&](mlir::Value value) { return loop.isDefinedOutsideOfLoop(value); };
  auto compare = loop.getConditionOp().getCondition().getDefiningOp<mlir::arith::CmpIOp>();
  if (!compare || compare.getPredicate() != mlir::arith::CmpIPredicate::ne)
    return std::nullopt;
  for (const auto &[at, goal] : {std::pair(compare.getLhs(), compare.getRhs()),
                                 std::pair(compare.getRhs(), compare.getLhs())}) {
    auto carried = mlir::dyn_cast<mlir::BlockArgument>(at);
    if (!carried || carried.getOwner() != loop.getBeforeBody() || !isFixed(goal) ||
        !mlir::isa<mlir::IntegerType>(at.getType()))
      continue;
    const unsigned number = carried.getArgNumber();
    mlir::Operation *next =
        loop.getAfterBody()->getTerminator()->getOperand(number).getDefiningOp();
    if (!next || !mlir::isa<mlir::arith::AddIOp, mlir::arith::SubIOp>(next) ||
        !isFixed(next->getOperand(1)))
      continue;
    auto before = mlir::dyn_cast<mlir::BlockArgument>(next->getOperand(0));
    if (before && before.getOwner() == loop.getAfterBody() &&
        loop.getConditionOp().getArgs()[before.getArgNumber()] == at)
      return LoopSlice::Count{number, goal, next->getOperand(1),
                              mlir::isa<mlir::arith::SubIOp>(next)};
  }
  return std::nullopt;
}

} // namespace

std::optional<LoopSlice> sliceOf(mlir::scf::WhileOp loop) {
  bool isWatched = isInKernelItself(loop);
  loop.walk([&](mlir::Operation *op) { isWatched = isWatched && seesMemoryAlone(op); });
  if (!isWatched)
    return std::nullopt;
  LoopSlice slice = Slice(loop).of(loop.getConditionOp().getCondition());
  slice.count = countOf(loop);
  return slice;
}

} // namespace blockscope::interpreter::flat
