// Backward walk from a value to the loop's variables, and through what they become.
#include "gpu_backend/pipelining/loop_slice.h"

#include "gpu_backend/ir/tlg_dialect.h"

using namespace mlir;

namespace blockscope::gpu {

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
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 || !isPure(op))
    return false;
  return !ops.insert(op) ||
         llvm::all_of(op->getOperands(), [&](Value operand) { return add(loop, operand); });
}

void LoopSlice::clone(OpBuilder &builder, scf::ForOp loop, IRMapping &mapping) const {
  llvm::SmallVector<Operation *> inOrder;
  for (Operation &op : loop.getBody()->without_terminator())
    if (ops.contains(&op))
      inOrder.push_back(&op);
  for (Operation *op : inOrder)
    builder.clone(*op, mapping);
}

} // namespace blockscope::gpu
