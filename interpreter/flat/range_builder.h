// The integer ops of a kernel, as interval arithmetic needs them.
#pragma once

#include "interpreter/integer_ranges.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::interpreter::flat {

IntegerRanges findIntegerRanges(mlir::func::FuncOp function);

} // namespace blockscope::interpreter::flat
