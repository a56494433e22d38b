// Iterations of loops whose masks are all true.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Gives iterations that have more masks than a thread has predicates, `start + range < end` for
/// many elements each, a second body without those masks, where a comparison of scalars says that
/// all of them are true: all iterations but the last one, as a rule. With masks ptxas begins loads
/// in rounds, as predicates become free.
void separateFullIterations(mlir::func::FuncOp function);

} // namespace blockscope::gpu
