// Where in a chain of elementwise ops a block is converted from one layout to another.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Moves conversions of layouts along elementwise ops to where they move the fewest bytes: a block
/// is converted before it is widened and after it is narrowed, and two that are combined are
/// combined first where that is less. What loops with dots compute in each iteration changes only
/// `inPipelines`, behind the writing of rings, which are read in either layout.
void placeConversions(mlir::func::FuncOp function, bool inPipelines);

} // namespace blockscope::gpu
