// A kernel on one device, ready to be launched.
//
// Modules are never unloaded: a CUDA graph that captured a launch may be replayed at any later
// time.
#pragma once

#include "gpu_backend/driver/cuda_api.h"
#include "gpu_backend/driver/tensor_map_encoder.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace blockscope {

/// What is loaded: a cubin (or PTX, which the driver then assembles) and how it is launched.
struct KernelImage {
  std::string name;
  std::string binary;
  int numWarps = 4;
  int numCtas = 1; ///< cluster size; launches start grid x numCtas CTAs along x
  int sharedBytes = 0;
  bool cooperative = false;           ///< all CTAs of the grid run at the same time
  bool programmaticDependent = false; ///< may begin before the kernel ahead of it has ended
  std::vector<TensorMap> tensorMaps = {};
};

/// Why a kernel cannot be loaded. `resource` is empty unless the device has too little of it.
struct LoadFailure {
  std::string text;
  std::string resource;
  int64_t required = 0;
  int64_t limit = 0;
};

/// The tensors of a launch cannot be copied by TMA: nothing was launched, and another compilation
/// of the kernel has to be, without TMA. CUDA has no such number.
inline constexpr auto kNoTensorMap = static_cast<CUresult>(1023);

class LoadedKernel {
public:
  /// Loads the image on a device.
  ///
  /// Errors: null, with why in `failure`.
  static std::unique_ptr<LoadedKernel> load(const KernelImage &image, int device,
                                            LoadFailure &failure);

  /// Launches asynchronously on a stream of the kernel's device. The grid is in programs;
  /// `arguments` points to one 8-byte cell per parameter, its value in the low bytes.
  ///
  /// Errors: the driver's, or kNoTensorMap.
  CUresult launch(const std::array<uint32_t, 3> &grid, uint64_t *arguments, int count,
                  CUstream stream) const;

  const std::string &name() const { return name_; }
  int device() const { return device_; }
  int registers() const { return registers_; }
  int localBytes() const { return localBytes_; } ///< of one thread: spilled registers and arrays
  int maxThreads() const { return maxThreads_; } ///< of one CTA, given the registers
  int numWarps() const { return numWarps_; }
  uint64_t function() const { return reinterpret_cast<uint64_t>(function_); }
  uint64_t module() const { return reinterpret_cast<uint64_t>(module_); }

private:
  LoadedKernel() = default;
  bool prepare(const KernelImage &image, LoadFailure &failure);

  std::string name_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int device_ = 0, registers_ = 0, localBytes_ = 0, maxThreads_ = 0;
  int numWarps_ = 4, numCtas_ = 1, sharedBytes_ = 0;
  bool cooperative_ = false, programmaticDependent_ = false;
  std::unique_ptr<TensorMapEncoder> maps_; ///< null without TMA
};

} // namespace blockscope
