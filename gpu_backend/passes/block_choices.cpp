// An `if` that stores sums and gives zeros for the next ones has become a choice beside it, since
// zeros need no branch. As a selection it takes an instruction for each element, in each iteration.
// It becomes a result of the `if` again, so that the sums are used no more where there are zeros:
// they keep their registers, as wgmma wants it. A choice for which there is no `if` gets one, if
// neither block is needed otherwise.
#include "gpu_backend/passes/block_choices.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr size_t kMostSelected = 8; ///< elements of a thread

bool isLargeChoice(arith::SelectOp choice) {
  return tlg::hasLayout(choice.getType()) && !tlg::hasLayout(choice.getCondition().getType()) &&
         size_t{1} << tlg::layoutOf(choice.getType()).registers.size() > kMostSelected;
}

/// Whether `value` is there at `op`, a later op of the block where it is used.
bool isThereAt(Value value, Operation *op) {
  Operation *made = value.getDefiningOp();
  return !made || made->getBlock() != op->getBlock() || made->isBeforeInBlock(op);
}

/// The `if` by the same condition where the choice can be made, or null.
scf::IfOp branchFor(arith::SelectOp choice) {
  Block *block = choice->getBlock();
  for (auto branch : block->getOps<scf::IfOp>()) {
    const auto isBehind = [&](Operation *user) {
      Operation *beside = block->findAncestorOpInBlock(*user);
      return branch->isBeforeInBlock(beside);
    };
    if (branch.getCondition() == choice.getCondition() &&
        isThereAt(choice.getTrueValue(), branch) && isThereAt(choice.getFalseValue(), branch) &&
        llvm::all_of(choice->getUsers(), isBehind))
      return branch;
  }
  return {};
}

/// Adds the choice to what `branch` gives.
void chooseIn(IRRewriter &rewriter, arith::SelectOp choice, scf::IfOp branch) {
  rewriter.setInsertionPoint(branch);
  llvm::SmallVector<Type> types(branch.getResultTypes());
  types.push_back(choice.getType());
  auto made = scf::IfOp::create(rewriter, branch.getLoc(), types, branch.getCondition(),
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  const auto fill = [&](Block *from, Block *to, Value chosen) {
    llvm::SmallVector<Value> yields;
    if (from) {
      Operation *end = from->getTerminator();
      yields.assign(end->operand_begin(), end->operand_end());
      rewriter.eraseOp(end);
      rewriter.mergeBlocks(from, to);
    }
    yields.push_back(chosen);
    rewriter.setInsertionPointToEnd(to);
    scf::YieldOp::create(rewriter, branch.getLoc(), yields);
  };
  Block *otherwise = branch.elseBlock();
  fill(branch.thenBlock(), made.thenBlock(), choice.getTrueValue());
  fill(otherwise, made.elseBlock(), choice.getFalseValue());
  rewriter.replaceOp(choice, made.getResults().back());
  rewriter.replaceOp(branch, made.getResults().drop_back());
}

/// Whether an operand of the choice is a constant, or used by it alone.
bool isOnlyChosen(Value value) { return matchPattern(value, m_Constant()) || value.hasOneUse(); }

void chooseByBranch(IRRewriter &rewriter, arith::SelectOp choice) {
  rewriter.setInsertionPoint(choice);
  const Location location = choice.getLoc();
  const auto giving = [&](Value value) {
    return [&, value](OpBuilder &inner, Location) { scf::YieldOp::create(inner, location, value); };
  };
  auto made = scf::IfOp::create(rewriter, location, choice.getCondition(),
                                giving(choice.getTrueValue()), giving(choice.getFalseValue()));
  rewriter.replaceOp(choice, made.getResults());
}

/// Whether a loop goes on with the sums of wgmma, or with others.
bool isOfSums(arith::SelectOp choice) {
  const auto isSum = [](Value value) { return value.getDefiningOp<tlg::WgmmaWaitOp>(); };
  return (isSum(choice.getTrueValue()) || isSum(choice.getFalseValue())) && choice->hasOneUse() &&
         isa<scf::YieldOp>(*choice->user_begin());
}

} // namespace

void branchForBlocks(func::FuncOp function, bool onlyForSums) {
  llvm::SmallVector<arith::SelectOp> choices;
  function.walk([&](arith::SelectOp choice) {
    if (isLargeChoice(choice) && (!onlyForSums || (isOfSums(choice) && branchFor(choice))))
      choices.push_back(choice);
  });
  IRRewriter rewriter(function.getContext());
  for (arith::SelectOp choice : choices) {
    if (scf::IfOp branch = branchFor(choice))
      chooseIn(rewriter, choice, branch);
    else if (isOnlyChosen(choice.getTrueValue()) && isOnlyChosen(choice.getFalseValue()))
      chooseByBranch(rewriter, choice);
  }
}

} // namespace blockscope::gpu
