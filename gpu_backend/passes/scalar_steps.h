// Blocks of integers that a loop carries only to add a number to all of their elements.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Makes each of them what it is before the loop, plus a scalar that the loop carries instead: such
/// a block can be computed again in any layout, and ahead of its iteration.
void carryStepsAsScalars(mlir::func::FuncOp function);

} // namespace blockscope::gpu
