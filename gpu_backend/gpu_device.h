// What whole GPUs do in a second: one row of a table for each product (gpu_device.cpp).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace blockscope {

/// The most that a GPU does of one kind of operations.
///
/// Units: floating-point operations, a fused multiply-add is two; without sparsity.
struct GpuPeak {
  bool isTensor = false; ///< of the tensor cores, else of the vector units
  llvm::StringRef dtype; ///< "fp16"; "tf32"
  double teraflops = 0;
};

struct GpuDevice {
  llvm::StringRef name;          ///< "H100 SXM"
  llvm::StringRef alias;         ///< as the command line takes it: "h100"
  llvm::StringRef arch;          ///< of its row in the table of targets: "sm_90a"
  double gigabytesPerSecond = 0; ///< of its memory
  llvm::ArrayRef<GpuPeak> peaks;

  /// All rows; of one architecture the first is what stands for it.
  static llvm::ArrayRef<GpuDevice> all();
  /// The device with this alias, or the first one of this architecture ("sm_90", "sm_90a"); null
  /// when there is none.
  static const GpuDevice *find(llvm::StringRef name);
};

} // namespace blockscope
