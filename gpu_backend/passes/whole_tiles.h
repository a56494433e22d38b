// Tiles whose masks hold everywhere, apart from those at an edge.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Runs the iterations of a loop whose tiles are whole without masks, in a loop before it, and
/// stores whole tiles beside it without masks: where a mask by a size of which nothing is known has
/// each thread load or store its elements one by one.
void splitWholeTiles(mlir::func::FuncOp function);

} // namespace blockscope::gpu
