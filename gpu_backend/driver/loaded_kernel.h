// A kernel on one device, ready to be launched. Its code may be unloaded between launches
// (gpu_module.h).
#pragma once

#include "gpu_backend/driver/gpu_module.h"
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
  static std::unique_ptr<LoadedKernel> load(KernelImage image, int device, LoadFailure &failure);

  /// Launches asynchronously on a stream of the kernel's device. The grid is in programs;
  /// `arguments` points to one 8-byte cell per parameter, its value in the low bytes.
  ///
  /// Errors: the driver's, or kNoTensorMap.
  CUresult launch(const std::array<uint32_t, 3> &grid, uint64_t *arguments, int count,
                  CUstream stream) const;

  const std::string &name() const { return image_.name; }
  int device() const { return device_; }
  int registers() const { return registers_; }
  int localBytes() const { return localBytes_; } ///< of one thread: spilled registers and arrays
  int maxThreads() const { return maxThreads_; } ///< of one CTA, given the registers
  int numWarps() const { return image_.numWarps; }
  /// Returns the driver's addresses of the code; from now on it stays loaded.
  ///
  /// Errors: the driver's.
  CUresult addresses(uint64_t &module, uint64_t &function) const;

private:
  LoadedKernel(KernelImage image, int device);
  CUresult loadCode(CUmodule &module, CUfunction &function, std::string &error);
  CUresult setUp(CUfunction function, std::string &error);

  const KernelImage image_; ///< kept to load the code again
  const int device_;
  int registers_ = 0, localBytes_ = 0, maxThreads_ = 0;
  std::unique_ptr<TensorMapEncoder> maps_; ///< null without TMA
  std::unique_ptr<GpuModule> module_;
};

} // namespace blockscope
