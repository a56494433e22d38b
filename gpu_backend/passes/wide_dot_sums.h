// Sums of dots in fp16, which tensor cores add up in fp32.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Has dots with fp16 results add up in fp32, and rounds where something other than a dot or a cast
/// to fp32 takes the result: from one iteration of a loop to the next it stays as it is. Each dot
/// would otherwise widen and round all of its sums.
void keepDotSumsWide(mlir::func::FuncOp function);

} // namespace blockscope::gpu
