// `while` loops that count up to a number are `for` loops: only these have stages, rounds and known
// ranges of their counters.
#include "gpu_backend/passes/passes.h"

#include "core/ir/option_attributes.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

bool isPositive(Value value) {
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isStrictlyPositive();
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<tl::NumProgramsOp>(op) ||
         (isa_and_nonnull<arith::MulIOp, tl::HintOp>(op) &&
          llvm::all_of(op->getOperands(), isPositive));
}

/// A loop that goes on as long as a variable is below `end`, and adds `step`, which is positive, to
/// it in every iteration.
struct Count {
  unsigned variable = 0;
  Value end, step;
};

std::optional<Count> countOf(scf::WhileOp loop) {
  Block *before = loop.getBeforeBody();
  scf::ConditionOp condition = loop.getConditionOp();
  auto compare = condition.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare != &before->front() || compare->getNextNode() != condition ||
      !llvm::equal(condition.getArgs(), before->getArguments()))
    return std::nullopt;
  const bool isLess = compare.getPredicate() == arith::CmpIPredicate::slt;
  if (!isLess && compare.getPredicate() != arith::CmpIPredicate::sgt)
    return std::nullopt;
  Value counter = isLess ? compare.getLhs() : compare.getRhs();
  Count count;
  count.end = isLess ? compare.getRhs() : compare.getLhs();
  auto argument = dyn_cast<BlockArgument>(counter);
  if (!argument || argument.getOwner() != before || !loop.isDefinedOutsideOfLoop(count.end))
    return std::nullopt;
  count.variable = argument.getArgNumber();
  auto sum = loop.getYieldOp().getOperand(count.variable).getDefiningOp<arith::AddIOp>();
  Value own = loop.getAfterBody()->getArgument(count.variable);
  if (!sum || (sum.getLhs() != own && sum.getRhs() != own))
    return std::nullopt;
  count.step = sum.getLhs() == own ? sum.getRhs() : sum.getLhs();
  const bool isKnown = loop.isDefinedOutsideOfLoop(count.step) && isPositive(count.step);
  return isKnown ? std::optional(count) : std::nullopt;
}

/// The variable stays one, for its value behind the loop.
void makeFor(IRRewriter &rewriter, scf::WhileOp loop, const Count &count) {
  rewriter.setInsertionPoint(loop);
  auto made = scf::ForOp::create(rewriter, loop.getLoc(), loop.getInits()[count.variable],
                                 count.end, count.step, loop.getInits());
  if (const Attribute hint = loop->getAttr(tl::kDisableLicmHint))
    made->setAttr(tl::kDisableLicmHint, hint);
  llvm::SmallVector<Value> variables(made.getRegionIterArgs());
  variables[count.variable] = made.getInductionVar();
  rewriter.mergeBlocks(loop.getAfterBody(), made.getBody(), variables);
  rewriter.replaceOp(loop, made);
}

} // namespace

void countLoops(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](scf::WhileOp loop) { // inner ones first
    if (const std::optional<Count> count = countOf(loop))
      makeFor(rewriter, loop, *count);
  });
}

} // namespace blockscope::gpu
