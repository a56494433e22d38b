// Pointers of a loop that run side by side.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace blockscope::gpu {

/// Pointers that a loop moves by the same step, from places whose distance is constant, are that
/// many variables of 64 bits and as many sums in each iteration. One of them stays; the others are
/// its distance away, which accesses add for nothing.
void mergeParallelPointers(llvm::LoopInfo &loops, llvm::ScalarEvolution &evolution);

} // namespace blockscope::gpu
