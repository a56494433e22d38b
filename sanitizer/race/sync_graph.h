// Which program has seen which: releases by address, acquires by program.
//
// A vector clock is made of them only when two accesses conflict and ask. Kernels whose atomics
// only count or add up never ask, and would pay the square of the number of programs for clocks.
#pragma once

#include "sanitizer/race/vector_clock.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <vector>

namespace blockscope::sanitizer {

class SyncGraph {
public:
  void clear();
  /// `program` sees all that was released at `host` so far.
  void acquire(uint32_t program, uint64_t host);
  /// `program` has looked at the value at `host`, and what it does depends on that.
  void look(uint32_t program, uint64_t host);
  /// `program` sees all that had been released at the places where it has looked, when it did.
  void acquireAllAsLooked(uint32_t program);
  /// `program` sees what had been released at `host` when it last looked there. False where more
  /// has been released since.
  bool acquireAsLooked(uint32_t program, uint64_t host);
  /// Whether `program` has released at `host` what it did in `epoch`.
  bool isReleasedAt(uint64_t host, uint32_t program, uint32_t epoch) const;
  /// What `program` did up to `epoch`, and what it has seen, becomes visible at `host`; in the warp
  /// model its block stores only up to `barrierEpoch`.
  void release(uint32_t program, uint64_t host, uint32_t epoch, uint32_t barrierEpoch);

  /// Whether `program` has seen what `other` did in `epoch`.
  bool sees(uint32_t program, uint32_t other, uint32_t epoch);
  /// The same for block stores in the warp model.
  bool seesInWarps(uint32_t program, uint32_t other, uint32_t epoch);

private:
  struct Release {
    uint32_t program, epoch, barrierEpoch;
    uint32_t acquires; ///< how many acquires of the program came before
  };
  /// The first `length` releases of a log were seen.
  struct Acquire {
    uint32_t log, length;
  };
  struct Node {
    std::vector<Acquire> acquires;
    // The clocks of the first `known` acquires, and what was walked for them.
    size_t known = 0;
    VectorClock clock, warpClock;
    llvm::DenseMap<uint32_t, uint32_t> walkedReleases; ///< log -> length
    llvm::DenseMap<uint32_t, uint32_t> walkedAcquires; ///< program -> count
  };

  bool seesDirectly(const Node &node, uint32_t other,
                    llvm::function_ref<bool(const Release &)> tells) const;
  void acquire(uint32_t program, Acquire acquire);
  void update(Node &node);

  llvm::DenseMap<uint64_t, uint32_t> logOf_;
  std::vector<std::vector<Release>> logs_;
  /// By log and program: where in the log its releases are.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, llvm::SmallVector<uint32_t, 2>> placesOf_;
  std::map<uint32_t, Node> nodes_;
  /// By program and log: how many releases there were when the program last looked.
  std::map<uint32_t, std::map<uint32_t, uint32_t>> looks_;
};

} // namespace blockscope::sanitizer
