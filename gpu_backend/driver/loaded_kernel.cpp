// Loads cubins and launches them.
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

std::unique_ptr<LoadedKernel> LoadedKernel::load(const KernelImage &image, int device,
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
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel);
  kernel->device_ = device;
  return kernel->prepare(image, failure) ? std::move(kernel) : nullptr;
}

bool LoadedKernel::prepare(const KernelImage &image, LoadFailure &failure) {
  const CudaApi &api = *cudaApi();
  name_ = image.name;
  numWarps_ = image.numWarps;
  numCtas_ = image.numCtas;
  sharedBytes_ = image.sharedBytes;
  cooperative_ = image.cooperative;
  programmaticDependent_ = image.programmaticDependent;
  if (!image.tensorMaps.empty())
    maps_ = std::make_unique<TensorMapEncoder>(image.tensorMaps);
  std::string log;
  CUresult result = loadModule(api, image.binary, module_, log);
  if (result != CUDA_SUCCESS) {
    failure.text = kernelText(image) + " cannot be loaded: " + describeCudaError(result) +
                   (log.empty() ? "" : "\n" + log);
    return false;
  }
  result = api.cuModuleGetFunction(&function_, module_, image.name.c_str());
  if (result != CUDA_SUCCESS) {
    failure.text = kernelText(image) + " is not in its binary: " + describeCudaError(result);
    return false;
  }
  api.cuFuncGetAttribute(&registers_, CU_FUNC_ATTRIBUTE_NUM_REGS, function_);
  api.cuFuncGetAttribute(&localBytes_, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function_);
  api.cuFuncGetAttribute(&maxThreads_, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function_);
  const int threads = numWarps_ * 32;
  if (threads > maxThreads_) {
    failure = {"", "threads of one CTA", threads, maxThreads_};
    return false;
  }
  if (sharedBytes_ > kDefaultSharedBytes) {
    api.cuFuncSetCacheConfig(function_, CU_FUNC_CACHE_PREFER_SHARED);
    result = api.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    sharedBytes_);
  }
  if (result == CUDA_SUCCESS && numCtas_ > kPortableClusterSize)
    result =
        api.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  if (result != CUDA_SUCCESS)
    failure.text = kernelText(image) + " with " + std::to_string(sharedBytes_) +
                   " bytes of shared memory and clusters of " + std::to_string(numCtas_) +
                   " cannot be set up: " + describeCudaError(result);
  return result == CUDA_SUCCESS;
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
  if (numCtas_ > 1) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[used].value.clusterDim = {static_cast<unsigned>(numCtas_), 1, 1};
    ++used;
  }
  if (programmaticDependent_) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[used++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (cooperative_) {
    attributes[used].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[used++].value.cooperative = 1;
  }
  CUlaunchConfig config = {};
  config.gridDimX = grid[0] * static_cast<unsigned>(numCtas_);
  config.gridDimY = grid[1];
  config.gridDimZ = grid[2];
  config.blockDimX = static_cast<unsigned>(numWarps_) * 32;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(sharedBytes_);
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = used;
  return cudaApi()->cuLaunchKernelEx(&config, function_, pointers, nullptr);
}

} // namespace blockscope
