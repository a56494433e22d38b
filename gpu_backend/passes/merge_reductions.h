// Reductions of what a reduction has given.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Makes one reduction along both axes of two by the same function, of which the second one takes
/// what the first has made, as `tl.sum(tl.sum(x, 1), 0)`. The first one alone exchanges each of its
/// results among threads, and every thread holds them all; together they combine what a thread has
/// before anything is exchanged. Only where elements may be combined in any order.
void mergeReductions(mlir::func::FuncOp function);

} // namespace blockscope::gpu
