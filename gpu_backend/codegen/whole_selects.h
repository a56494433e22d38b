// Choices between packed elements, a register at a time.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Where one condition chooses between all elements of two vectors of less than 32 bits each, it
/// chooses between their registers. NVPTX takes such vectors apart: two choices for each register,
/// what puts their results together, and a register for each half for as long as it is chosen from.
void chooseWholeRegisters(llvm::Function &function);

} // namespace blockscope::gpu
