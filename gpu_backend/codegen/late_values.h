// The order of a block's instructions, where it asks for more registers than there are.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Lowering writes one op after the other, each for all elements of a thread: addresses of all
/// loads, then all loads, then all that is computed of them. ptxas keeps that order roughly. Of
/// tiles with many elements for a thread it is more than there are registers, and goes to memory;
/// of masks it is soon more than the seven predicates, and goes through bits of registers. Where a
/// block of instructions holds that much, each value is now made right before its first use, and
/// what uses values up is computed as soon as they are there. Accesses, barriers and all else that
/// acts stay in their order.
void makeValuesLate(llvm::Function &function);

} // namespace blockscope::gpu
