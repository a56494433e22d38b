// Vectors that threads have copies of: who computes them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Has the lanes that hold copies of a small block (a slice of a tile, of what a dot makes) share
/// what is costly to compute of it, chains of exponentials, logarithms, quotients and scans with
/// the loads before them, where that costs less than to give each lane all of the results
/// afterwards.
void shareVectors(mlir::func::FuncOp function);

} // namespace blockscope::gpu
