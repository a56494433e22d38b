// Finds ptxas and libdevice.
#include "gpu_backend/codegen/toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

namespace blockscope::gpu {
namespace {

std::string below(llvm::StringRef root, llvm::StringRef path) {
  llvm::SmallString<128> full(root);
  llvm::sys::path::append(full, path);
  return llvm::sys::fs::exists(full) ? full.str().str() : std::string();
}

std::string inToolkit(llvm::StringRef path) {
  for (const char *root : std::initializer_list<const char *>{
           std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"})
    if (root)
      if (std::string found = below(root, path); !found.empty())
        return found;
  return {};
}

} // namespace

std::string findLibdevice(const std::string &given, std::string *error) {
  if (!given.empty())
    return given;
  std::string found = inToolkit("nvvm/libdevice/libdevice.10.bc");
  if (found.empty())
    *error = "libdevice.10.bc was not found; install Python's nvidia-cuda-nvcc package or set "
             "CUDA_HOME";
  return found;
}

std::string findPtxas(const std::string &given, std::string *error) {
  if (!given.empty())
    return given;
  if (const char *path = std::getenv("TRITON_PTXAS_PATH"))
    return path;
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  std::string found = inToolkit("bin/ptxas");
  if (found.empty())
    *error = "ptxas was not found; install Python's nvidia-cuda-nvcc package, or set CUDA_HOME or "
             "TRITON_PTXAS_PATH";
  return found;
}

} // namespace blockscope::gpu
