// The order of wgmma, and of the waits for them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Begins each dot by wgmma as soon as its operands are there, and waits for it right before its
/// first use: dots that do not need one another run without a gap, beside what is computed from
/// those before. Where a thread would hold more than its `registers`, it reads shared memory later,
/// and waits earlier for dots whose first operand it holds.
void orderWgmma(mlir::func::FuncOp function, int registers);

} // namespace blockscope::gpu
