// Blocks that are computed once for each of several layouts.
#pragma once

#include "mlir/IR/Value.h"

namespace blockscope::gpu {

/// Whether two blocks have the same elements, whatever layouts they are in: both are made by the
/// same elementwise ops of the same blocks, or of conversions of these. Not found out for long
/// chains of ops.
bool haveSameElements(mlir::Value a, mlir::Value b);

/// A block before `op`, in its part of the code, that has the elements of `value` in another layout
/// and is needed anyway; `value` if there is none.
mlir::Value sameInOtherLayout(mlir::Value value, mlir::Operation *op);

} // namespace blockscope::gpu
