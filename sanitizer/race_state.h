// The private state of the race sanitizer: logs of programs and what it knows of a running one.
#pragma once

#include "sanitizer/race_sanitizer.h"

namespace blockscope {

/// An access without what only lives during the event.
struct RaceSanitizer::LoggedAccess {
  uint32_t op = 0;
  AccessKind kind = AccessKind::Load;
  AtomicSemantics semantics = AtomicSemantics::Relaxed;
  AtomicScope scope = AtomicScope::Gpu;
  bool isAtomic = false;
  bool isBarrier = false;
  bool hasValues = false;
  bool valuesAreScalar = false;
  int elementBytes = 1;
  int64_t lanes = 1;
  uint64_t sequence = 0;
  const Allocation *allocation = nullptr;
  size_t firstRun = 0, runCount = 0, firstValue = 0;
};

struct RaceSanitizer::ProgramLog {
  int64_t program = 0;
  std::vector<LoggedAccess> accesses;
  std::vector<AccessRun> runs;
  std::vector<std::byte> values;
};

struct RaceSanitizer::ProgramState {
  uint32_t epoch = 1;
  VectorClock clock;
  /// Events before this one are visible to all warps of the program.
  uint64_t barrierSequence = 0;
  uint64_t lastSequence = 0;
  bool blockStoreSinceBarrier = false;
  uint32_t blockStoreOp = 0;
  DeviceAddress blockStoreAddress = 0; ///< of its first active lane

  void passBarrier() {
    barrierSequence = lastSequence;
    blockStoreSinceBarrier = false;
  }
  void noteBlockStore(uint32_t op, uint64_t sequence, DeviceAddress address) {
    blockStoreSinceBarrier = true;
    blockStoreOp = op;
    blockStoreAddress = address;
    lastSequence = sequence;
  }
};

/// The access that is being checked, with all that a report of it needs.
struct RaceSanitizer::Conflict {
  int64_t program;
  ProgramState &state;
  const LoggedAccess &access;
  const Allocation &allocation;
};

} // namespace blockscope
