// Loads of dots' operands in loops that no ring brings, by TMA.
#pragma once

#include "gpu_backend/gpu_target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Has TMA do the loads of operands of wgmma that are still in loops: beside a loop in the loop,
/// say, or where the kernel asks for one stage. The loads of a block take the buffers of a ring in
/// turn: each copy begins as early in the block as its buffer has been read. Returns whether there
/// were any; they may take more shared memory than a kernel without them.
bool loadInLoopsByTma(mlir::func::FuncOp function, const GpuTarget &target);

} // namespace blockscope::gpu
