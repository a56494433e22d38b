// The parts of the CUDA toolkit that are files: the assembler and the math library.
#pragma once

#include <string>

namespace blockscope::gpu {

/// Returns `given` if it is not empty, else libdevice.10.bc from CUDA_HOME or /usr/local/cuda.
///
/// Errors: empty, with the text in `error`.
std::string findLibdevice(const std::string &given, std::string *error);
/// Returns `given` if it is not empty, else ptxas from TRITON_PTXAS_PATH, PATH, CUDA_HOME or
/// /usr/local/cuda.
std::string findPtxas(const std::string &given, std::string *error);

} // namespace blockscope::gpu
