// Products of 64 bits whose factors have 32.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Says of products of 64 bits that their factors have 32, where instruction selection, which looks
/// at one block, would not see it: a stride is made wide in front of the loop that multiplies by
/// it. One instruction, in place of five.
void multiplyWide(llvm::Function &function);

} // namespace blockscope::gpu
