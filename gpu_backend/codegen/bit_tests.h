// Tests of bits whose places are a number and a constant.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Makes `((x >> y) & 1) != 0`, for enough `y` that are one number and a constant each, a shift of
/// `x` by the number and a test of the constant's bit each. LLVM makes them `(x & (1 << y)) != 0`
/// and takes what is shifted out of loops: of a block whose mask is bits of words, a thread would
/// hold a register for each of its columns, or two, in all of the loop.
void shareShiftsOfBitTests(llvm::Function &function);

} // namespace blockscope::gpu
