// What is computed of constants that conditions choose from.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Chooses results in place of what they are computed from: of a number that conditions choose from
/// constants, and that is compared with others to choose again or converted, each result is known.
/// So are numbers that a kernel rounds to a code and decodes. A result is chosen by the conditions
/// themselves where that takes fewer instructions.
void chooseResults(llvm::Function &function);

} // namespace blockscope::gpu
