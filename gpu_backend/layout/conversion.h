// How a block gets from one layout to another: nothing, renamed registers, shuffles inside warps,
// or through shared memory; as data from which code is emitted.
#pragma once

#include "gpu_backend/layout/matrix_access.h"
#include "gpu_backend/layout/shared_layout.h"
#include "gpu_backend/layout/shuffle_plan.h"

namespace blockscope::gpu {

/// Through shared memory: in each round the source's threads store, a barrier, the destination's
/// threads load, and a barrier before the next round or other use of the memory.
struct SharedPlan {
  SharedLayout layout;
  SharedAccess store, load;
  /// When set, it does the same as the vector access, in fewer instructions or wavefronts.
  std::optional<MatrixAccess> matrixStore, matrixLoad;
  /// Round r moves the offsets in [r * roundBytes, (r + 1) * roundBytes), stored at the offset
  /// modulo roundBytes. With one round roundBytes is the size of the block.
  int rounds = 1;
  uint32_t roundBytes = 0;
  /// Whether in each round all threads access the same vectors: the round of a vector is that of
  /// its `offsetBytes`. Otherwise a thread accesses those whose XOR with its own offset is in it.
  bool uniformRounds = true;
  /// Each warp loads only what it stored: a barrier of the warp (__syncwarp) is enough between the
  /// two.
  bool withinWarps = false;
  /// Destination register r holds what was loaded into register `copyOf[r]`.
  llvm::SmallVector<uint32_t> copyOf;

  int wavefronts() const {
    return (matrixStore ? matrixStore->wavefronts : store.wavefronts) +
           (matrixLoad ? matrixLoad->wavefronts : load.wavefronts);
  }
};

/// What to do to convert; only the member of `kind` is set.
struct ConversionPlan {
  enum class Kind { None, Registers, Shuffles, Shared };
  Kind kind = Kind::None;
  /// Destination register r is source register `registers[r]`.
  llvm::SmallVector<uint32_t> registers;
  std::optional<ShufflePlan> shuffles;
  std::optional<SharedPlan> shared;
  /// What it costs a warp, in quarters of a wavefront: the time of one simple instruction of each
  /// of a multiprocessor's four schedulers. An estimate, for comparisons.
  int cost = 0;

  /// Bytes of shared memory needed.
  uint32_t sharedBytes() const { return shared ? shared->roundBytes : 0; }
};

/// What the target and the caller allow.
struct ConversionOptions {
  /// Shared memory to use at most; a larger block takes several rounds.
  ///
  /// Units: bytes, at least 128.
  uint32_t sharedLimitBytes = 64 * 1024;
  bool shuffles = true;
  bool matrixLoad = true;  // ldmatrix
  bool matrixStore = true; // stmatrix
  /// What uses the result takes so many 32-bit registers that follow each other at a time: those of
  /// as many words of the layout's registers, from the first one on. 1: each by itself.
  int tupleWords = 1;
};

/// The cheapest plan that gives every register of `destination`, copies included, the element that
/// it stands for. The costs compared are counts of wavefronts and selects, with fixed prices for
/// barriers, not measurements.
///
/// Shapes: both layouts hold all elements of `width` bits and have equal numbers of lanes and
/// warps. Units:  `elementBytes` is 1, 2, 4 or 8.
ConversionPlan planConversion(const LinearLayout &source, const LinearLayout &destination,
                              int width, int elementBytes, const ConversionOptions &options = {});

/// The plan through shared memory whatever the layouts.
SharedPlan planShared(const LinearLayout &source, const LinearLayout &destination, int width,
                      int elementBytes, const ConversionOptions &options = {});

} // namespace blockscope::gpu
