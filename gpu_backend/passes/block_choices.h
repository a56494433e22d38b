// Choices between two blocks by a scalar.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Makes branches of choices between large blocks by a scalar, which all threads of a program take
/// alike: sums that begin anew with a tile cost nothing in other iterations.
void branchForBlocks(mlir::func::FuncOp function);

} // namespace blockscope::gpu
