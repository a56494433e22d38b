// Asks the driver for the GPUs and keeps their primary contexts.
#include "gpu_backend/driver/devices.h"

#include <atomic>
#include <mutex>

namespace blockscope {

namespace {

DeviceInfo describeDevice(const CudaApi &api, int ordinal) {
  DeviceInfo info;
  info.ordinal = ordinal;
  CUdevice device = 0;
  api.cuDeviceGet(&device, ordinal);
  const auto ask = [&](CUdevice_attribute attribute) {
    int value = 0;
    api.cuDeviceGetAttribute(&value, attribute, device);
    return value;
  };
  char name[256] = {};
  api.cuDeviceGetName(name, sizeof(name) - 1, device);
  info.name = name;
  info.capability = 10 * ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                    ask(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.multiprocessors = ask(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.maxSharedBytes = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.sharedBytesPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.registersPerCta = ask(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  info.warpSize = ask(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.maxThreadsPerMultiprocessor = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info.maxThreadsPerCta = ask(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.clockKhz = ask(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  info.memoryClockKhz = ask(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memoryBusBits = ask(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.l2CacheBytes = ask(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  size_t bytes = 0;
  api.cuDeviceTotalMem(&bytes, device);
  info.memoryBytes = bytes;
  return info;
}

} // namespace

const std::vector<DeviceInfo> &gpuDevices(std::string *error) {
  static const std::vector<DeviceInfo> devices = [] {
    std::vector<DeviceInfo> found;
    const CudaApi *api = cudaApi();
    int count = 0;
    if (api && api->cuDeviceGetCount(&count) == CUDA_SUCCESS)
      for (int ordinal = 0; ordinal < count; ++ordinal)
        found.push_back(describeDevice(*api, ordinal));
    return found;
  }();
  if (devices.empty() && error && cudaApi(error))
    *error = "the CUDA driver finds no GPU; is CUDA_VISIBLE_DEVICES empty? Kernels on CPU tensors "
             "run without one";
  return devices;
}

CUcontext primaryContext(int ordinal, CUresult &result) {
  static std::mutex mutex;
  static std::vector<std::atomic<CUcontext>> contexts(gpuDevices().size());
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= contexts.size()) {
    result = CUDA_ERROR_INVALID_DEVICE;
    return nullptr;
  }
  std::atomic<CUcontext> &kept = contexts[static_cast<size_t>(ordinal)];
  result = CUDA_SUCCESS;
  if (CUcontext context = kept.load(std::memory_order_acquire)) // as in each launch but the first
    return context;
  const std::lock_guard lock(mutex);
  CUcontext context = kept;
  if (!context) {
    CUdevice device = 0;
    result = cudaApi()->cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS)
      result = cudaApi()->cuDevicePrimaryCtxRetain(&context, device);
    kept.store(context, std::memory_order_release);
  }
  return context;
}

ContextScope::ContextScope(int ordinal) {
  const CUcontext wanted = primaryContext(ordinal, result_);
  if (result_ != CUDA_SUCCESS)
    return;
  CUcontext current = nullptr;
  cudaApi()->cuCtxGetCurrent(&current);
  if (current == wanted)
    return;
  before_ = current;
  result_ = cudaApi()->cuCtxSetCurrent(wanted);
}

ContextScope::~ContextScope() {
  if (before_)
    cudaApi()->cuCtxSetCurrent(before_);
}

int deviceOfAddress(uint64_t address, uint64_t &devicePointer) {
  const CudaApi *api = cudaApi();
  int ordinal = -1;
  CUdeviceptr pointer = 0;
  if (!api || api->cuPointerGetAttribute(&pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) !=
                  CUDA_SUCCESS)
    return -1;
  if (api->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) !=
      CUDA_SUCCESS)
    return -1;
  devicePointer = pointer;
  return ordinal;
}

} // namespace blockscope
