// What a kernel says while it runs: the debug buffer that gpu_backend/compile.h describes.
#pragma once

#include "gpu_backend/compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// True when the kernel prints or asserts, so that its last parameter is the debug buffer.
bool takesDebugBuffer(mlir::func::FuncOp function, const GpuOptions &options);

} // namespace blockscope::gpu
