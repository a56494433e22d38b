// Masks of accesses that wait for others, in fewer registers.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Keeps masks as bits of words, from the loads that they are of to what uses them later, where
/// there are more than predicate registers. A thread has seven of these, and ptxas would rather
/// finish with an element than keep its mask elsewhere: loads would wait for one another, one in
/// flight at a time. Not in loops, where making the words each time was measured to cost more, and
/// not where the loads fill so many registers that all at once would spill.
void keepMasksInBits(llvm::Function &function);

} // namespace blockscope::gpu
