// Which parameters of a kernel its loads, stores and atomics may go through.
#pragma once

#include "interpreter/flat/flat_program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::interpreter::flat {

/// Follows every pointer that is accessed back to the parameters it may come from. A pointer whose
/// origin is not seen (it was loaded, or made of an integer) may come from anywhere.
MemoryUse findMemoryUse(mlir::func::FuncOp function);

} // namespace blockscope::interpreter::flat
