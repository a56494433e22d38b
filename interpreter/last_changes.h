// Who changed memory last, so that a deadlock can be told by who holds a lock.
//
// Kept only where programs may wait for one another (LaunchInfo::mayWait), and of atomics on one
// element: locks, flags and counters are such. Of all other writes the bytes from the first to the
// last one are kept, so that nothing is said of what they may have changed.
//
// Each worker has tables of its own; `LaunchState::progress` orders their rows. What a program
// changes after it took a lock has a later number than the taking, on whatever worker. Asked only
// while no program runs.
#pragma once

#include "interpreter/events.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace blockscope::interpreter {

class LastChanges {
public:
  /// Forgets everything; notes what comes where programs may wait.
  void begin(int workers, bool mayWait);
  bool isOn() const { return !workers_.empty(); }

  /// In step mode the op is not known yet (`unnamed`).
  void note(int worker, const std::byte *host, const Change &change);
  /// Bytes from `begin` to `end` may have changed.
  void noteRange(int worker, const std::byte *begin, const std::byte *end);
  /// Anything may have changed.
  void noteUnknown(int worker) { workers_[worker].isFull = true; }

  /// The change that was noted last, if its op is not known yet.
  Change *unnamed(int worker);

  /// Who gave the element at `host` the value that it has; nothing where that is not known.
  std::optional<Change> find(const std::byte *host) const;
  /// Whether no program can have changed any of these bytes.
  bool isUntouched(const std::byte *host, int64_t bytes) const;

private:
  struct Range {
    const std::byte *begin, *end;
  };
  struct alignas(64) Worker {
    llvm::DenseMap<const std::byte *, Change> changes;
    llvm::SmallVector<Range, 4> ranges;
    Change *latest = nullptr;
    bool isFull = false; ///< not all is kept
  };

  std::vector<Worker> workers_;
};

} // namespace blockscope::interpreter
