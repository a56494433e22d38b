// The masks of copies to shared memory.
#pragma once

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// A masked cp.async has the number of bytes that it reads, of which ptxas makes a predicate for
/// each copy. Those whose number is chosen by masks get the predicate to ignore the source instead.
/// Behind all passes that look for choices in loops: by them LLVM sees that an iteration is better
/// taken apart.
void nameMasksOfCopies(llvm::Function &function, const llvm::LoopInfo &loops);

} // namespace blockscope::gpu
