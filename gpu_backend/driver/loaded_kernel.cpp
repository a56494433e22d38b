// Loads kernels and launches them.
#include "gpu_backend/driver/loaded_kernel.h"

#include "gpu_backend/driver/devices.h"

namespace blockscope {

namespace {

// A CTA gets this much without asking; more needs an attribute of the function.
constexpr int kDefaultSharedBytes = 48 * 1024;
constexpr int kPortableClusterSize = 8;
constexpr int kMaxArguments = 512; // of 8 bytes: the driver's limit is 4096 bytes, or 32764
constexpr size_t kMaxMaps = 16;

CUresult loadModule(const CudaApi &api, const std::string &binary, CUmodule &module,
                    std::string &log) {
  char text[4096] = {};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {text, reinterpret_cast<void *>(sizeof(text) - 1)};
  const CUresult result = api.cuModuleLoadDataEx(&module, binary.c_str(), 2, names, values);
  log = text;
  while (!log.empty() && log.back() == '\n')
    log.pop_back();
  return result;
}

std::string kernelText(const KernelImage &image) { return "kernel '" + image.name + "'"; }

} // namespace

LoadedKernel::LoadedKernel(KernelImage image, int device)
    : image_(std::move(image)), device_(device) {
  if (!image_.tensorMaps.empty())
    maps_ = std::make_unique<TensorMapEncoder>(image_.tensorMaps);
  module_ = std::make_unique<GpuModule>(
      device, [this](CUmodule &module, CUfunction &function, std::string &error) {
        return loadCode(module, function, error);
      });
}

std::unique_ptr<LoadedKernel> LoadedKernel::load(KernelImage image, int device,
                                                 LoadFailure &failure) {
  const auto &devices = gpuDevices(&failure.text);
  if (device < 0 || static_cast<size_t>(device) >= devices.size()) {
    if (failure.text.empty())
      failure.text = kernelText(image) + ": there is no GPU " + std::to_string(device) +
                     ", expected 0 to " + std::to_string(devices.size() - 1);
    return nullptr;
  }
  const int limit = devices[device].maxSharedBytes;
  if (image.sharedBytes > limit) {
    failure = {"", "shared memory", image.sharedBytes, limit};
    return nullptr;
  }
  const ContextScope scope(device);
  if (scope.result() != CUDA_SUCCESS) {
    failure.text =
        "GPU " + std::to_string(device) + " cannot be used: " + describeCudaError(scope.result());
    return nullptr;
  }
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel(std::move(image), device));
  const CUresult result = kernel->module_->load(failure.text);
  const int threads = kernel->numWarps() * 32;
  if (kernel->maxThreads_ > 0 && threads > kernel->maxThreads_) {
    failure = {"", "threads of one CTA", threads, kernel->maxThreads_};
    return nullptr;
  }
  return result == CUDA_SUCCESS ? std::move(kernel) : nullptr;
}

CUresult LoadedKernel::loadCode(CUmodule &module, CUfunction &function, std::string &error) {
  const CudaApi &api = *cudaApi();
  std::string log;
  CUresult result = loadModule(api, image_.binary, module, log);
  if (result != CUDA_SUCCESS) {
    error = kernelText(image_) + " cannot be loaded: " + describeCudaError(result) +
            (log.empty() ? "" : "\n" + log);
    return result;
  }
  result = api.cuModuleGetFunction(&function, module, image_.name.c_str());
  if (result != CUDA_SUCCESS)
    error = kernelText(image_) + " is not in its binary: " + describeCudaError(result);
  else
    result = setUp(function, error);
  if (result != CUDA_SUCCESS)
    api.cuModuleUnload(module);
  return result;
}

CUresult LoadedKernel::setUp(CUfunction function, std::string &error) {
  const CudaApi &api = *cudaApi();
  if (maxThreads_ == 0) { // loaded for the first time: no other thread has this kernel yet
    api.cuFuncGetAttribute(&registers_, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    api.cuFuncGetAttribute(&localBytes_, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
    api.cuFuncGetAttribute(&maxThreads_, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  }
  CUresult result = CUDA_SUCCESS;
  if (image_.sharedBytes > kDefaultSharedBytes) {
    api.cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_SHARED);
    result = api.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    image_.sharedBytes);
  }
  if (result == CUDA_SUCCESS && image_.numCtas > kPortableClusterSize)
    result =
        api.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (result != CUDA_SUCCESS)
    error = kernelText(image_) + " with " + std::to_string(image_.sharedBytes) +
            " bytes of shared memory and clusters of " + std::to_string(image_.numCtas) +
            " cannot be set up: " + describeCudaError(result);
  return result;
}

CUresult LoadedKernel::addresses(uint64_t &module, uint64_t &function) const {
  const ContextScope scope(device_);
  CUmodule code = nullptr;
  CUfunction entry = nullptr;
  const CUresult result =
      scope.result() == CUDA_SUCCESS ? module_->pin(code, entry) : scope.result();
  module = reinterpret_cast<uint64_t>(code);
  function = reinterpret_cast<uint64_t>(entry);
  return result;
}

CUresult LoadedKernel::launch(const std::array<uint32_t, 3> &grid, uint64_t *arguments, int count,
                              CUstream stream) const {
  void *pointers[kMaxArguments + kMaxMaps];
  CUtensorMap maps[kMaxMaps];
  const size_t mapCount = maps_ ? maps_->size() : 0;
  if (count > kMaxArguments)
    return CUDA_ERROR_INVALID_VALUE;
  const ContextScope scope(device_);
  if (scope.result() != CUDA_SUCCESS)
    return scope.result();
  if (mapCount > kMaxMaps || (maps_ && !maps_->encode(arguments, count, maps)))
    return kNoTensorMap;
  for (int i = 0; i < count; ++i)
    pointers[i] = arguments + i;
  for (size_t i = 0; i < mapCount; ++i)
    pointers[static_cast<size_t>(count) + i] = maps + i;
  CUlaunchAttribute attributes[3];
  unsigned used = 0;
  if (image_.numCtas > 1) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[used].value.clusterDim = {static_cast<unsigned>(image_.numCtas), 1, 1};
    ++used;
  }
  if (image_.programmaticDependent) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[used++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (image_.cooperative) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[used++].value.cooperative = 1;
  }
  CUlaunchConfig config = {};
  config.gridDimX = grid[0] * static_cast<unsigned>(image_.numCtas);
  config.gridDimY = grid[1];
  config.gridDimZ = grid[2];
  config.blockDimX = static_cast<unsigned>(image_.numWarps) * 32;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(image_.sharedBytes);
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = used;
  GpuModule::Launch launch;
  CUresult result = module_->begin(stream, launch);
  if (result != CUDA_SUCCESS)
    return result;
  result = cudaApi()->cuLaunchKernelEx(&config, launch.function, pointers, nullptr);
  module_->end(launch, result);
  return result;
}

} // namespace blockscope
