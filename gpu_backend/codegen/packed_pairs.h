// Pairs of small integers, computed as one.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Where two integers of 16 bits become one register (prmt), and both are made by the same ops,
/// these ops are done once, on both at a time: and, or and xor, sums and differences that end below
/// 2^16, and bits of one word. So are weights of 4 bits unpacked, eight to a word: where the two
/// are `word >> n` and `word >> (n + 16)`, a shift and a mask in place of two of each and a prmt.
void computePairsAtOnce(llvm::Function &function);

} // namespace blockscope::gpu
