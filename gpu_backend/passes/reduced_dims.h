// Along which dimensions of a block elements are combined later.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallBitVector.h"

namespace blockscope::gpu {

/// The dimensions of `block` along which a reduction or a scan combines what is computed from it,
/// element by element or by smaller reductions. Threads that lie along another dimension need not
/// exchange anything for those.
/// Shapes: one bit per dimension.
llvm::SmallBitVector reducedDims(mlir::Value block);

} // namespace blockscope::gpu
