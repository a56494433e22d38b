// Shifts by as many bits as there are, or more.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Makes one instruction of a shift that is guarded against such numbers: PTX's own gives what
/// shifting bit by bit gives, but LLVM's gives anything at all.
void shiftByAnyNumber(llvm::Function &function);

} // namespace blockscope::gpu
