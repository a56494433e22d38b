// Accesses that come after others of the same memory by other warps.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Puts a barrier before a store, or an atomic, to what other warps may still have to load: a load
/// of one element, or of fewer than there are threads, is done by several warps, and one of them
/// stores. `tl.store(p, tl.load(p) + 1)` would give those that are behind the sum.
///
/// And before a store or a load of what a block of the same shape was stored to in another layout.
///
/// Where threads load and store in one layout each has its own elements, and where what is loaded
/// is only stored, what others load does not matter: no barrier is needed.
void orderStores(mlir::func::FuncOp function);

} // namespace blockscope::gpu
