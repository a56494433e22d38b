// Counters of loops, as ptxas makes most of them.
#pragma once

#include "llvm/Analysis/LoopInfo.h"

namespace blockscope::gpu {

/// Loops that load and take exponentials count with 64 bits, where their counter is for nothing
/// else. With 32 bits ptxas (12.8 to 13.0) puts loads behind the exponentials that do not need
/// them, so that these do not hide the wait; with 64 it does not, the PTX being the same otherwise.
/// Not loops with dots, which have no registers left for it.
void widenCounters(llvm::LoopInfo &loops);

/// Loops that load, with numbers for their counter's start, step and end, test what it is next,
/// not, as LLVM has it, what it is: ptxas (12.8 to 13.0) then knows how often they run, unrolls
/// them, and begins the loads of several iterations at a time. Not loops with dots.
void testNextCounts(llvm::LoopInfo &loops);

} // namespace blockscope::gpu
