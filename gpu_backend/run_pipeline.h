// Runs the passes of the GPU level, with dumps, and with a reproducer when one fails.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"
#include "gpu_backend/named_passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace blockscope::gpu {

/// Runs the chosen passes on `module`, the block IR of `kernel`.
///
/// Errors: false, with the text in `error`, which has what the context's handler collected before.
bool runGpuPipeline(mlir::ModuleOp module, const GpuTarget &target, const GpuOptions &options,
                    const GpuKernel &kernel, PipelineReport &report, std::string &error);

} // namespace blockscope::gpu
