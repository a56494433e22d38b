// Pointers of a loop that run side by side, or always the same distance from where they are used.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace blockscope::gpu {

/// Pointers that a loop moves by the same step, from places whose distance is constant, are that
/// many variables of 64 bits and as many sums in each iteration. One of them stays; the others are
/// its distance away, which accesses add for nothing.
void mergeParallelPointers(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution);

/// A pointer to which all of its loop adds the same number, one that the loop does not change,
/// begins that much further. Strength reduction keeps what many addresses have in common, such as
/// the column of a thread, in one register, and adds it to each of them in each iteration. Long
/// loops that store keep pointers which are the same in all threads: those take no registers of a
/// thread, which then begins more loads before it waits.
void moveSumsIntoStarts(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution);

} // namespace blockscope::gpu
