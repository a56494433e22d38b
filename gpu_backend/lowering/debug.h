// What a kernel says while it runs: the debug buffer that gpu_backend/gpu_kernel.h describes.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// True when the kernel prints or asserts, so that its last parameter is the debug buffer.
bool takesDebugBuffer(mlir::func::FuncOp function, const GpuOptions &options);

} // namespace blockscope::gpu
