// The GPU architectures that kernels are compiled for: one row of a table each (gpu_target.cpp).
// Whoever needs to know what a GPU can do asks a field of its row, never for its capability.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace blockscope {

/// What a GPU can do, one field for each row of gpu_features.def.
struct GpuFeatures {
#define BLK_GPU_FEATURE(field, name) bool field = false;
#include "gpu_backend/gpu_features.def"
#undef BLK_GPU_FEATURE
};

/// What one multiprocessor has, and does in one cycle.
///
/// Units:  operations are floating point operations, a fused multiply-add is two.
/// Source: CUDA C++ Programming Guide, "Compute Capabilities"; NVIDIA's architecture whitepapers.
struct Multiprocessor {
  int warps = 0, ctas = 0;  ///< at the same time
  int sharedKiB = 0;        ///< shared memory
  int vectorOperations = 0; ///< of the vector units, on 32 bits
  int matrixOperations = 0; ///< of the tensor cores, on 16 bits, without sparsity
  int registers = 65536;
  int registerUnit = 256; ///< a warp's registers are given out in units of so many
  int warpUnit = 4;       ///< and to so many warps at a time
};

/// A GPU architecture as the assembler names it.
struct GpuTarget : GpuFeatures {
  llvm::StringRef arch; ///< "sm_90a"
  int capability = 0;   ///< 10 * major + minor
  int ptxVersion = 0;   ///< 10 * major + minor of the PTX language
  Multiprocessor multiprocessor;

  static constexpr int kThreadRegisters = 255;      ///< the most that one thread can have
  static constexpr int kReservedSharedBytes = 1024; ///< of each CTA, for the system

  /// The most shared memory that one CTA can have.
  int sharedBytes() const { return multiprocessor.sharedKiB * 1024 - kReservedSharedBytes; }
  /// The most registers that a thread of a CTA with so many warps can have.
  int registersPerThread(int warps) const;
  /// How many CTAs of so many warps, with so many registers a thread and so much shared memory
  /// each, a multiprocessor runs at the same time.
  int ctasAtATime(int warps, int registers, int64_t sharedBytes) const;
  /// Whether branches of its machine code count words, not bytes: all GPUs since Hopper do.
  bool branchesByWords() const { return hasTma; }
  /// Threads are given a multiple of so many registers.
  int registerStep() const { return multiprocessor.registerUnit / 32; }

  /// The most registers of a thread with which as many warps run as a multiprocessor has.
  int registersForAllWarps() const {
    return multiprocessor.registers / (32 * multiprocessor.warps) / registerStep() * registerStep();
  }

  /// All rows of the table, by capability.
  static llvm::ArrayRef<GpuTarget> all();
  /// Returns the target `sm_80`, `sm_90a` and so on, or what runs best on such a GPU (`sm_90`).
  ///
  /// Errors: nothing for an unknown name; `error` gets the known ones.
  static std::optional<GpuTarget> parse(llvm::StringRef arch, std::string *error = nullptr);
  /// Returns the target for a device of this capability (90), as `parse` does.
  static std::optional<GpuTarget> ofCapability(int capability, std::string *error = nullptr);
};

} // namespace blockscope
