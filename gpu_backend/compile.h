// From the block IR of one kernel to a cubin. No MLIR headers here, so that callers compile fast.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include <memory>

namespace blockscope {

class IrEmitter;

/// Compiles the kernel in `emitter`, whose module has been through runPasses. The module is lowered
/// in place. Safe to call from several threads, each with its own emitter.
///
/// Errors: null, with the text in `error`. A text that begins with "ptxas" is the assembler's; one
/// that begins with "out of resource: " has the form "out of resource: NAME, required: N, limit:
/// M". Where the mistake is ours, the text names a file with the IR that reproduces it.
std::unique_ptr<GpuKernel> compileForGpu(IrEmitter &emitter, const GpuTarget &target,
                                         const GpuOptions &options, std::string *error);

/// Returns the names of all ops that can be compiled, in order.
std::vector<std::string> gpuOps();

} // namespace blockscope
