// The order of a block's instructions, where it asks for more registers than there are.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"

namespace blockscope::gpu {

/// What the values of a block hold at most, at a time.
struct Held {
  int64_t words = 0, masks = 0; ///< registers of 32 bits; masks that only choose
};

/// Of the block's instructions in an order. Values from before it count as long as the block knows
/// them, what is used behind it, or in the next iteration, to its end.
Held mostHeld(llvm::ArrayRef<llvm::Instruction *> order);

/// Whether an instruction may go to another place among those that act.
bool mayMove(const llvm::Instruction &instruction);

/// Lowering writes one op after the other, each for all elements of a thread: addresses of all
/// loads, then all loads, then all that is computed of them. ptxas keeps that order roughly. Of
/// tiles with many elements for a thread it is more than there are registers, and goes to memory;
/// of masks it is soon more than the seven predicates, and goes through bits of registers. Where a
/// block of instructions holds that much, each value is now made right before its first use, and
/// what uses values up is computed as soon as they are there. Accesses, barriers and all else that
/// acts stay in their order.
void makeValuesLate(llvm::Function &function);

} // namespace blockscope::gpu
