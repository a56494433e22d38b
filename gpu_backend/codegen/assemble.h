// PTX to machine code.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include <string>

namespace blockscope::gpu {

/// Assembles kernel.ptx to kernel.cubin and reads registers and spills from what ptxas says. Where
/// it gives few registers and lets the kernel spill, the PTX may be changed to ask for more.
///
/// Errors: false, with the text in `error` and the PTX kept in a file that it names.
bool assemble(GpuKernel &kernel, const GpuOptions &options, std::string *error);

} // namespace blockscope::gpu
