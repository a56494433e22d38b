// Loads of dots' operands in loops that no ring brings, as copies to shared memory.
#pragma once

#include "gpu_backend/gpu_target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Has TMA or cp.async do the loads of operands of tensor cores that are still in loops: beside a
/// loop in the loop, say, or where the kernel asks for one stage. The loads of a block take the
/// buffers of a ring in turn: each copy begins as early in the block as its buffer has been read
/// and its address is known. `finish` does what comes after with shared memory, which tells how
/// much the kernel takes: there are as many buffers as leave a multiprocessor its CTAs, or no
/// copies. Returns whether there are any.
bool copyInLoops(mlir::func::FuncOp function, const GpuTarget &target,
                 llvm::function_ref<void(mlir::func::FuncOp)> finish);

} // namespace blockscope::gpu
