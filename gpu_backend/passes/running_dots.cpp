// Waits move behind the loop, and into the branch that uses the sums.
#include "gpu_backend/passes/running_dots.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Where a loop uses the sums of a dot, behind the wait for them: nowhere else but in its variable,
/// or in a branch that gives that: a tile's last iteration stores them and begins anew.
struct SumUses {
  tlg::WgmmaOp dot;
  tlg::WgmmaWaitOp wait;
  unsigned variable = 0;
  scf::IfOp branch; ///< null: none
};

/// Nothing where others use them.
std::optional<SumUses> sumUses(tlg::WgmmaOp dot, scf::ForOp loop) {
  auto sum = dyn_cast<BlockArgument>(dot.getAcc());
  if (!isa<tlg::SharedType>(dot.getA().getType()) || !isa<tlg::SharedType>(dot.getB().getType()) ||
      !sum || sum.getOwner() != loop.getBody() || !sum.hasOneUse() || !dot->hasOneUse())
    return std::nullopt;
  SumUses uses{dot, dyn_cast<tlg::WgmmaWaitOp>(*dot->user_begin()), sum.getArgNumber() - 1, {}};
  if (!uses.wait || uses.wait->getNumResults() != 1 || uses.wait->use_empty())
    return std::nullopt;
  Value complete = uses.wait->getResult(0), next = loop.getYieldedValues()[uses.variable];
  if (complete.hasOneUse() && next == complete)
    return uses;
  uses.branch = next.getDefiningOp<scf::IfOp>();
  if (!uses.branch || uses.branch->getBlock() != loop.getBody() || !next.hasOneUse())
    return std::nullopt;
  const unsigned result = cast<OpResult>(next).getResultNumber();
  const bool isKept = uses.branch.thenYield().getOperand(result) == complete ||
                      uses.branch.elseYield().getOperand(result) == complete;
  const bool isOnlyThere = llvm::all_of(
      complete.getUsers(), [&](Operation *user) { return uses.branch->isProperAncestor(user); });
  return isKept && isOnlyThere ? std::optional(uses) : std::nullopt;
}

/// Has the parts of a branch that use sums, or go on with others in their registers, wait for them,
/// and no other.
void waitInBranch(RewriterBase &rewriter, llvm::MutableArrayRef<SumUses> dots) {
  scf::IfOp branch = dots.front().branch;
  auto loop = cast<scf::ForOp>(branch->getParentOp());
  for (Region &region : branch->getRegions()) {
    Operation *yield = region.front().getTerminator();
    const auto isHere = [&](OpOperand &use) {
      return region.isAncestor(use.getOwner()->getParentRegion());
    };
    const auto onlyGoesOn = [&](SumUses &uses) {
      const unsigned result =
          cast<OpResult>(loop.getYieldedValues()[uses.variable]).getResultNumber();
      return yield->getOperand(result) == uses.wait->getResult(0) &&
             llvm::count_if(uses.wait->getUses(), isHere) == 1;
    };
    llvm::SmallVector<Value> sums;
    for (SumUses &uses : dots)
      sums.push_back(uses.dot.getResult());
    if (!llvm::all_of(dots, onlyGoesOn)) {
      rewriter.setInsertionPointToStart(&region.front());
      sums = llvm::to_vector_of<Value>(
          tlg::WgmmaWaitOp::create(rewriter, loop.getLoc(), TypeRange(ValueRange(sums)), sums, 0)
              .getResults());
    }
    for (auto [uses, sum] : llvm::zip(dots, sums))
      rewriter.replaceUsesWithIf(uses.wait->getResult(0), sum, isHere);
  }
  for (SumUses &uses : dots)
    rewriter.eraseOp(uses.wait);
}

/// Whether a branch has dots of its own, whose sums would have to be made beside those on their
/// way.
bool hasDots(scf::IfOp branch) {
  return branch.walk([](tlg::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

int keepDotsRunning(RewriterBase &rewriter, scf::ForOp loop) {
  llvm::SmallVector<SumUses> dots;
  llvm::SmallVector<unsigned> variables;
  for (auto dot : loop.getBody()->getOps<tlg::WgmmaOp>()) {
    const std::optional<SumUses> uses = sumUses(dot, loop);
    if (!uses || (!dots.empty() && dots.front().branch != uses->branch) ||
        (uses->branch && hasDots(uses->branch)))
      return 0;
    dots.push_back(*uses);
    variables.push_back(uses->variable);
  }
  if (!dots.empty() && dots.front().branch) {
    const OpBuilder::InsertionGuard guard(rewriter);
    waitInBranch(rewriter, dots);
  } else {
    for (SumUses &uses : dots)
      rewriter.replaceOp(uses.wait, uses.dot->getResults());
  }
  const OpBuilder::InsertionGuard guard(rewriter);
  const auto waitFor = [&](ValueRange sums) {
    return tlg::WgmmaWaitOp::create(rewriter, loop.getLoc(), TypeRange(sums), sums, 0);
  };
  // The sums are in registers before the loop may be skipped: where the ways meet, ptxas must not
  // find them written by something else while dots run.
  rewriter.setInsertionPoint(loop);
  llvm::SmallVector<Value> initial, sums;
  for (const unsigned variable : variables)
    initial.push_back(loop.getInitArgs()[variable]);
  auto ready = waitFor(initial);
  for (auto [variable, value] : llvm::zip(variables, ready.getResults()))
    loop.getInitArgsMutable()[variable].assign(value);
  rewriter.setInsertionPointAfter(loop);
  for (const unsigned variable : variables)
    sums.push_back(loop.getResult(variable));
  auto wait = waitFor(sums);
  for (auto [sum, complete] : llvm::zip(sums, wait.getResults()))
    rewriter.replaceAllUsesExcept(sum, complete, wait);
  return static_cast<int>(dots.size());
}

} // namespace blockscope::gpu
