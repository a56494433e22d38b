// The CUDA driver, opened at run time: one table of functions, null where there is no driver.
#pragma once

#include <cuda.h>

#include <string>

namespace blockscope {

/// The functions of libcuda.so.1, under the names of cuda.h.
struct CudaApi {
#define BLK_CUDA_FUNCTION(name) decltype(&::name) name = nullptr;
#include "gpu_backend/driver/cuda_functions.def"
#undef BLK_CUDA_FUNCTION
  int driverVersion = 0; ///< 1000 * major + 10 * minor, as CUDA counts
};

/// Returns the table; the library is opened and initialised by the first call.
///
/// Errors: null, with what is missing and what to do instead in `error`; the same at each call.
const CudaApi *cudaApi(std::string *error = nullptr);

/// Returns `an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)`.
std::string describeCudaError(CUresult result);

} // namespace blockscope
