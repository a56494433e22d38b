// The order of wgmma, and of the waits for them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Begins each dot by wgmma as soon as its operands are there, and waits for it right before its
/// first use: dots that do not need one another run without a gap, beside what is computed from
/// those before.
void orderWgmma(mlir::func::FuncOp function);

} // namespace blockscope::gpu
