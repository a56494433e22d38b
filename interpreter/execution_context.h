// The running program as evaluators of memory, ids, printing and asserting see it.
#pragma once

#include "interpreter/last_changes.h"
#include "interpreter/memory.h"
#include "interpreter/observer_list.h"
#include "interpreter/saved_memory.h"

#include <array>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace blockscope::interpreter {

/// One launch as all its programs share it.
///
/// Its callbacks (print, the resolver of host addresses, the poll of launchFlat) may call Python:
/// they are called with no lock held. They do not throw, since this code knows no exceptions: one
/// that fails keeps its error for whoever launched, and calls `abandon`.
struct LaunchState {
  LaunchInfo info;
  MemoryMap memory;
  ObserverList observers;
  bool assertsEnabled = false;
  /// Writes the device_print text of one program; called by worker threads, several at a time.
  std::function<void(llvm::StringRef)> print;
  /// Set on the first error that no observer takes over, at a deadlock, by Ctrl-C.
  std::atomic<bool> stop{false};
  /// A callback has failed: what is refused from then on is no finding.
  std::atomic<bool> abandoned{false};
  /// Counts every change of memory that another program can see; the scheduler's progress.
  std::atomic<uint64_t> progress{0};
  LastChanges changes;
  /// Where what is about to be written is saved first; null when the launch is not done again, or
  /// can be without.
  std::unique_ptr<SavedMemory> saved;
  std::mutex errorMutex;
  std::vector<Finding> errors; ///< of what no observer takes over

  /// Ends the launch with these errors, unless it has ended with others.
  void fail(std::vector<Finding> found) {
    const std::lock_guard lock(errorMutex);
    if (errors.empty())
      errors = std::move(found);
    stop = true;
  }
  void abandon() {
    abandoned = true;
    stop = true;
  }
  /// Returns the errors so far, and forgets them.
  std::vector<Finding> takeErrors() {
    const std::lock_guard lock(errorMutex);
    return std::exchange(errors, {});
  }
  bool assertsAreEnabled() const { return assertsEnabled || observers.plan().takesAsserts; }
};

/// Evaluators get this. Step mode owns one per program; the machine one per program instance.
class ExecutionContext {
public:
  LaunchState *launch = nullptr;
  std::array<int32_t, 3> program = {0, 0, 0};
  int64_t linearProgram = 0;
  int worker = 0;
  uint64_t sequence = 0;
  const OpInfo *op = nullptr; ///< of the op that runs now
  llvm::SmallVector<int64_t, 4> loopIterations;
  /// Set by an atomic or volatile load that changed nothing and saw what it saw before: the
  /// scheduler may suspend the program after this op.
  bool spinning = false;
  int64_t spinLanes = 1;  ///< that the op which spun last looks at
  bool spinSwaps = false; ///< it is an exchange, or a compare-and-swap
  /// What each atomic or volatile load saw last (a hash); clear it when a program begins.
  llvm::SmallVector<std::pair<const void *, uint64_t>, 2> lastSeen;
  /// It waits in a loop of plain loads, whose state repeats: until memory changes it goes on for
  /// ever. Where it looks, when that is one address.
  bool waitsByLoads = false;
  DeviceAddress waitsAt = 0;
  uint64_t loopState = 0;  ///< of the loop without bounds that was looked at last
  uint64_t loopAnchor = 0; ///< its state at the first look, which the others are compared with
  /// Text of device_print, flushed when the program ends.
  std::string printed;
};

} // namespace blockscope::interpreter
