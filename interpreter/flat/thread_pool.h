// Threads that outlive launches, and how many of them a launch uses.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace blockscope::interpreter {

/// Returns how many threads run programs: BLOCKSCOPE_THREADS, or all processors that this process
/// may use. At least 1, at most 1024.
int defaultThreadCount();

/// Called by a waiting thread every 20 ms; true when it has to give up.
using Poll = llvm::function_ref<bool()>;

/// Threads of the pool that work for one launch. Launches of several threads share the pool.
class ThreadLease {
public:
  /// Leases `wanted` threads, or as many as there can be. Waits while all of them are leased.
  ThreadLease(int wanted, Poll poll);
  ~ThreadLease();
  ThreadLease(const ThreadLease &) = delete;
  ThreadLease &operator=(const ThreadLease &) = delete;

  /// 0 when `poll` gave up, or no thread can be made at all: `error` says why.
  int count() const { return count_; }
  const std::string &error() const { return error_; }

  /// Calls `task(worker)` for worker = 0 .. count() - 1, each on a thread of its own, and returns
  /// when all are done. `poll` is called meanwhile; its answer is for the tasks to heed.
  void run(llvm::function_ref<void(int worker)> task, Poll poll);

private:
  std::string error_; // filled while count_ is initialised
  int count_ = 0;
};

} // namespace blockscope::interpreter
