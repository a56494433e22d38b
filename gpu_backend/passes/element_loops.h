// Long code for each element, a few elements of a thread at a time.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Makes a loop over parts of its blocks of a kernel that computes element by element, where that
/// is long, and a thread would hold more for all its elements than leaves others room: op by op,
/// each op for all elements, what an element needs from first to last is held for all of them.
/// Accesses of a part come behind stores of the one before: no argument is stored to twice, or
/// loaded too, and the launch finds out whether arguments overlap (passes/disjoint_arguments).
void loopOverElements(mlir::func::FuncOp function);

} // namespace blockscope::gpu
