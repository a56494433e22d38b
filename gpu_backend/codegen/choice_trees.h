// Choices of a value by a number, as of codes from a table.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Makes a tree of what chooses between values by comparing a number of few bits with one constant
/// after the other. The tree asks for each bit once, so that a choice between n values takes about
/// n instructions for 2n.
void chooseByBits(llvm::Function &function);

} // namespace blockscope::gpu
