// Along which dimensions of a block elements are combined later, and which first.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace blockscope::gpu {

constexpr int kNeverCombined = -1;

/// For each dimension of `block`, how many of its dimensions are gone before a reduction or a scan
/// combines what is computed from it along this one, element by element or by smaller reductions;
/// `kNeverCombined` where none does. Threads that lie along another dimension need not exchange
/// anything for those. The earlier a dimension is combined, the more elements are left along the
/// others, each of which would be exchanged.
/// Shapes: one number per dimension.
llvm::SmallVector<int, 4> combinedAfter(mlir::Value block);

} // namespace blockscope::gpu
