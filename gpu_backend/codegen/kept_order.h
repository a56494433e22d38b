// The order that a kernel was written in, where LLVM has lost it.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Notes the places of instructions, for keepOrder.
void noteOrder(llvm::Function &function);

/// LLVM's vectorizer of straight lines schedules a block anew for each pair that it makes: what
/// needs no loads, as random numbers that are wanted last, comes first then, and is held from there
/// on. Blocks whose instructions hold clearly fewer registers as they were noted get that order
/// back; accesses, barriers and all else that acts stay in the order that they have. Forgets the
/// notes.
void keepOrder(llvm::Function &function);

} // namespace blockscope::gpu
