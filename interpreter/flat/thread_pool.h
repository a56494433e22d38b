// Threads that outlive launches, and how many of them a launch uses.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>

namespace blockscope::interpreter {

/// Returns how many threads run programs: BLOCKSCOPE_THREADS, or all processors that this process
/// may use. At least 1, at most 1024.
int defaultThreadCount();

/// Calls `task(worker)` for worker = 0 .. workers - 1, each on a thread of the pool, and returns
/// when all are done. Meanwhile calls `poll` on this thread, every `interval`. Thread safe:
/// launches of several threads share the pool.
void runOnThreads(int workers, llvm::function_ref<void(int worker)> task,
                  llvm::function_ref<void()> poll, std::chrono::milliseconds interval);

} // namespace blockscope::interpreter
