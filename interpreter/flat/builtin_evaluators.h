// Evaluators that the flat program needs for itself: to fill a block with a scalar, and to repeat
// dimensions strip by strip.
#pragma once

#include "interpreter/evaluator.h"

namespace blockscope::interpreter::flat {

/// Every element of the result is the one element of the (scalar) operand.
Evaluator makeFill(int elementBytes);

/// tl.broadcast: repeats dimensions of size 1. Reads its operand whole, so it may be a member of a
/// fused group when the operand is not made in it.
Evaluator makeBroadcast(llvm::ArrayRef<int64_t> sourceShape, llvm::ArrayRef<int64_t> resultShape,
                        int elementBytes);

} // namespace blockscope::interpreter::flat
