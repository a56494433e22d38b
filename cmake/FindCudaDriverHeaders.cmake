# Finds cuda.h, the header of the CUDA driver: blockscope::cuda_headers. No library is linked; the
# driver's libcuda.so.1 is opened at run time, so that one build serves machines without a GPU.
# Looked for in CUDA_HOME, in the wheel nvidia-cuda-runtime of the Python in use, in /usr/local/cuda.

execute_process(COMMAND ${Python_EXECUTABLE} -c
  "import glob, sys; print(';'.join(g for p in sys.path for g in glob.glob(p + '/nvidia/cu*/include')))"
  OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(BLK_CUDA_INCLUDE cuda.h
  HINTS $ENV{CUDA_HOME}/include ${wheels} PATHS /usr/local/cuda/include
  NO_CMAKE_FIND_ROOT_PATH) # of no architecture, so from this machine
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaDriverHeaders REQUIRED_VARS BLK_CUDA_INCLUDE REASON_FAILURE_MESSAGE
  "cuda.h was not found: './dev build' installs it, as does 'pip install nvidia-cuda-runtime', or set CUDA_HOME")
if(CudaDriverHeaders_FOUND AND NOT TARGET blockscope::cuda_headers)
  add_library(blockscope::cuda_headers INTERFACE IMPORTED)
  target_include_directories(blockscope::cuda_headers INTERFACE ${BLK_CUDA_INCLUDE})
endif()
