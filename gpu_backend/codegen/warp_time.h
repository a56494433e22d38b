// How long a warp takes for the machine code that ptxas made, and how much of that it waits.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace blockscope::gpu {

/// One run of a kernel by one warp that nobody disturbs. The innermost loop with the most loads
/// runs `kTrips` times, other loops once.
struct WarpTime {
  static constexpr int kTrips = 8;
  static constexpr int64_t kMemory = 700, kCache = 250; ///< cycles until they have answered

  int64_t instructions = 0; ///< that it issues
  int64_t cycles = 0;       ///< from the first one to the end
  /// Of these it waits in that loop for memory behind an iteration's first answer: for loads that
  /// begin in further rounds.
  int64_t inRounds = 0;
  int64_t loads = 0; ///< of an iteration of that loop

  /// What of it falls into that loop.
  struct Share {
    int64_t instructions = 0, cycles = 0, loads = 0;
  };
  Share inLoop;
  int64_t loadsElsewhere = 0;

  /// The time for as many loads as other code of the same kernel has begun: ptxas makes one
  /// iteration of several in one of them and not in the other, so that `kTrips` are not the same
  /// work.
  WarpTime forLoadsOf(const WarpTime &other) const;
};

/// The time that a warp takes for a kernel's machine code, where loads take `answer` cycles.
///
/// Errors: nothing where the code is none that we can read.
/// Source: Z. Jia and others, "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
/// on control information: cycles until the next instruction, the barrier (of six) that results
/// which take their time set, and those that an instruction waits for.
std::optional<WarpTime> warpTime(llvm::StringRef text, bool branchesByWords,
                                 int64_t answer = WarpTime::kMemory);

} // namespace blockscope::gpu
