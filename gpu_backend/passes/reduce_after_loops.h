// Sums and maxima that a loop carries.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Carries in each thread what it has combined itself, where a loop does no more with the result of
/// a reduction than to combine it with a variable by the same function, as `m = max(m, max(x, 1))`
/// or `total += sum(x)`. Threads then meet once, behind the loop, not in each iteration. Only where
/// elements may be combined in any order, and threads hold no more than before.
void reduceAfterLoops(mlir::func::FuncOp function);

} // namespace blockscope::gpu
