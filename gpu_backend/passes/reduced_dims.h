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

/// Moves dimensions along which what is computed from `block` is combined to the end of `order`:
/// threads take them last, so that what is combined lies in a thread. What is combined first comes
/// last of all: of a sum over all dimensions but one, threads exchange the last sum only.
void combinedLast(llvm::MutableArrayRef<int> order, mlir::Value block);

} // namespace blockscope::gpu
