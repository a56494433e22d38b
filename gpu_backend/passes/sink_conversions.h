// Conversions of layouts that are needed later.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Puts conversions of layouts that stand before a loop, and are used only behind it, behind it:
/// they would wait for a load before the loop's first loads begin, and what they make would be held
/// in registers all through the loop.
void sinkConversions(mlir::func::FuncOp function);

/// Puts conversions before their first use where what they make takes more registers than what they
/// are made of, or that is kept as well, or where a load can begin before their barrier. Only what
/// is kept as well passes a dot by wgmma, which can run meanwhile (passes/order_wgmma). What is
/// converted to many registers and used at several places is converted again for each, where a
/// thread has too few registers to keep it.
void delayConversions(mlir::func::FuncOp function);

/// Puts those by which the lanes of a warp pass on what they share before their first use.
void sinkSpreadingConversions(mlir::func::FuncOp function);

} // namespace blockscope::gpu
