// Counters of loops, in 64 bits.
#pragma once

#include "llvm/Analysis/LoopInfo.h"

namespace blockscope::gpu {

/// Loops that load and take exponentials count with 64 bits, where their counter is for nothing
/// else. With 32 bits ptxas (12.8 to 13.0) puts loads behind the exponentials that do not need
/// them, so that these do not hide the wait; with 64 it does not, the PTX being the same otherwise.
/// Not loops with dots, which have no registers left for it.
void widenCounters(llvm::LoopInfo &loops);

} // namespace blockscope::gpu
