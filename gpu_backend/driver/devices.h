// The GPUs of this process: their facts and their primary contexts, which torch uses too.
#pragma once

#include "gpu_backend/driver/cuda_api.h"

#include <cstdint>
#include <string>
#include <vector>

namespace blockscope {

/// Facts about one GPU. Units: bytes, kHz, bits.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int capability = 0; ///< 10 * major + minor
  int multiprocessors = 0;
  int maxSharedBytes = 0; ///< of one CTA, when it opts in
  int sharedBytesPerMultiprocessor = 0;
  int registersPerCta = 0;
  int warpSize = 32;
  int maxThreadsPerMultiprocessor = 0;
  int maxThreadsPerCta = 0;
  int clockKhz = 0;
  int memoryClockKhz = 0;
  int memoryBusBits = 0;
  int l2CacheBytes = 0;
  uint64_t memoryBytes = 0;
};

/// Returns the GPUs that the driver shows.
///
/// Errors: empty, with why in `error`.
const std::vector<DeviceInfo> &gpuDevices(std::string *error = nullptr);

/// Returns the primary context of a device, made by the first call.
CUcontext primaryContext(int ordinal, CUresult &result);

/// Makes a device's primary context current and, at its end, the one that was current before. A
/// thread without any context keeps the new one.
class ContextScope {
public:
  explicit ContextScope(int ordinal);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  CUresult result() const { return result_; }

private:
  CUcontext before_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

/// Returns the device whose memory holds `address` as the GPU sees it (in `devicePointer`), or -1
/// for memory that no GPU can reach.
int deviceOfAddress(uint64_t address, uint64_t &devicePointer);

} // namespace blockscope
