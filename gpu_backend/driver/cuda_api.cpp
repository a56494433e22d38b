// Opens libcuda.so.1 and fills the table of its functions.
#include "gpu_backend/driver/cuda_api.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <type_traits>

namespace blockscope {

namespace {

// cuLaunchKernelEx and the images of our assembler need a driver of CUDA 12.
constexpr int kOldestDriver = 12000;
constexpr const char *kInstead =
    "; kernels on CPU tensors run without a GPU, and TRITON_INTERPRET=1 runs them step by step";

struct LoadedApi {
  CudaApi api;
  std::string error;
};

/// TRITON_LIBCUDA_PATH may name the library or its folder.
void *openLibrary(std::string &tried) {
  std::array<std::string, 2> names = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  if (const char *path = std::getenv("TRITON_LIBCUDA_PATH"); path && *path) {
    const std::string given = path;
    names = {given, given + "/libcuda.so.1"};
  }
  for (const std::string &name : names) {
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    if (tried.empty())
      tried = dlerror();
  }
  return nullptr;
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string fill(CudaApi &api) {
  std::string tried;
  void *library = openLibrary(tried);
  if (!library)
    return "there is no CUDA driver (" + tried + ")" + kInstead;
  std::string missing;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && missing.empty())
      missing = name;
  };
#define BLK_TEXT(name) #name
#define BLK_TEXT_OF(name) BLK_TEXT(name)
#define BLK_CUDA_FUNCTION(name) find(api.name, BLK_TEXT_OF(name));
#include "gpu_backend/driver/cuda_functions.def"
#undef BLK_CUDA_FUNCTION
  if (api.cuDriverGetVersion)
    api.cuDriverGetVersion(&api.driverVersion);
  if (!missing.empty() || api.driverVersion < kOldestDriver)
    return "the CUDA driver is too old: it is of CUDA " + versionText(api.driverVersion) +
           (missing.empty() ? "" : " and has no " + missing) + ", expected " +
           versionText(kOldestDriver) + " or newer" + kInstead;
  const CUresult result = api.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return std::string("the CUDA driver finds no GPU") + kInstead;
  if (result != CUDA_SUCCESS) {
    const char *text = nullptr;
    api.cuGetErrorString(result, &text);
    return std::string("the CUDA driver does not start: ") + (text ? text : "unknown error") +
           kInstead;
  }
  return {};
}

const LoadedApi &loaded() {
  static const LoadedApi instance = [] {
    LoadedApi made;
    made.error = fill(made.api);
    return made;
  }();
  return instance;
}

} // namespace

const CudaApi *cudaApi(std::string *error) {
  const LoadedApi &instance = loaded();
  if (instance.error.empty())
    return &instance.api;
  if (error)
    *error = instance.error;
  return nullptr;
}

std::string describeCudaError(CUresult result) {
  const CudaApi *api = cudaApi();
  const char *name = nullptr, *text = nullptr;
  if (api) {
    api->cuGetErrorName(result, &name);
    api->cuGetErrorString(result, &text);
  }
  if (!name || !text)
    return "CUDA error " + std::to_string(static_cast<int>(result));
  return std::string(text) + " (" + name + ")";
}

} // namespace blockscope
