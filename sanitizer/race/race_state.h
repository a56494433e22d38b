// The private state of the race sanitizer: what it knows of an access and of a running program.
#pragma once

#include "sanitizer/race/race_sanitizer.h"

namespace blockscope::sanitizer {

/// The access that is analysed now, as the kernel's other accesses will see it.
struct RaceSanitizer::SeenAccess {
  uint32_t op = 0;
  AccessKind kind = AccessKind::Load;
  AtomicSemantics semantics = AtomicSemantics::Relaxed;
  AtomicScope scope = AtomicScope::Gpu;
  ResultUse resultUse = ResultUse::Decides;
  bool isAtomic = false;
  int elementBytes = 1;
  int64_t lanes = 1;
  uint64_t sequence = 0;
  const Allocation *allocation = nullptr;
  llvm::ArrayRef<AccessRun> runs;
  const std::byte *values = nullptr; ///< of all lanes, where it stores; else null
};

struct RaceSanitizer::ProgramState {
  uint32_t epoch = 1;
  uint32_t barrierEpoch = 0; ///< at the last barrier
  uint32_t fenceEpoch = 0;   ///< at the last fence; 0: none
  /// Events before this one have come for all warps of the program.
  uint64_t visibleBefore = 0;
  uint64_t afterLast = 0; ///< the event behind the last access

  void passBarrier() {
    visibleBefore = afterLast;
    barrierEpoch = epoch++;
  }
};

/// The access that is being checked, with all that a report of it needs.
struct RaceSanitizer::Conflict {
  int64_t program;
  ProgramState &state;
  const SeenAccess &access;
  const Allocation &allocation;
};

} // namespace blockscope::sanitizer
