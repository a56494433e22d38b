// Choices between two blocks by a scalar.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Makes branches of choices between large blocks by a scalar, which all threads of a program take
/// alike: sums that begin anew with a tile cost nothing in other iterations. `onlyForSums`: of
/// those between a loop's sums of wgmma and others, where there is a branch that uses them, so that
/// the loop waits for them nowhere else.
void branchForBlocks(mlir::func::FuncOp function, bool onlyForSums = false);

} // namespace blockscope::gpu
