// The facts of core/op_facts.h for operations of MLIR.
#pragma once

#include "core/op_facts.h"

#include "mlir/IR/Operation.h"

namespace blockscope::tl {

/// Null for ops that have none: control flow, the ops of other dialects.
const OpFacts *factsOf(mlir::Operation *op);

/// Whether it is one of the atomics.
bool isAtomic(mlir::Operation *op);

/// Whether each element of the result is made from the same element of each operand. Upstream's ops
/// and those of `tl` say so by a trait; ops that are added at run time have no traits, only facts.
bool isElementwise(mlir::Operation *op);

} // namespace blockscope::tl
