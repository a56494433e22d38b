// The order of products by wgmma, and of the waits for them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Begins products by wgmma as soon as their operands are there, and waits for each right before
/// its first use: products that do not need one another run one after another without a gap, beside
/// what is computed from those before.
void orderProducts(mlir::func::FuncOp function);

} // namespace blockscope::gpu
