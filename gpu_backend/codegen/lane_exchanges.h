// Shuffles whose lanes exchange what they have.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Makes shuffles from the lane `own ^ constant` exchanges, which name the constant. Gathers with
/// computed indices, such as those of a block turned around, say the lane; that it is such a one is
/// seen when LLVM has simplified it. ptxas knows of an exchange where its data goes, and orders
/// what comes behind it so that a thread holds less.
void nameLaneExchanges(llvm::Function &function);

} // namespace blockscope::gpu
