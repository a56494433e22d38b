// The parts of the CUDA toolkit that are files: the assembler and the math library.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include <string>

namespace blockscope::gpu {

/// Returns `given` if it is not empty, else libdevice.10.bc from CUDA_HOME or /usr/local/cuda.
///
/// Errors: empty, with the text in `error`.
std::string findLibdevice(const std::string &given, std::string *error);
/// Returns `given` if it is not empty, else ptxas from TRITON_PTXAS_PATH, PATH, CUDA_HOME or
/// /usr/local/cuda.
std::string findPtxas(const std::string &given, std::string *error);

/// Assembles kernel.ptx to kernel.cubin and reads registers and spills from what ptxas says. Where
/// it gives few registers and lets the kernel spill, the PTX may be changed to ask for more.
///
/// Errors: false, with the text in `error` and the PTX kept in a file that it names.
bool assemble(GpuKernel &kernel, const GpuOptions &options, std::string *error);

} // namespace blockscope::gpu
