// Claims: ops whose operands observers look at in the fast form of a kernel (RunNeeds::claims).
#pragma once

#include "interpreter/evaluator.h"
#include "interpreter/flat/flat_program.h"

#include "mlir/IR/Operation.h"

namespace blockscope::interpreter::flat {

/// Whether the op is a hint or an assumption, makes integers or fp8 of floats (which saturate), or
/// compares floats to decide where a program goes, what an assert says or where an access is.
bool isClaim(mlir::Operation &op);

/// Shows the operands of an op to the observers; it has no results.
Evaluator makeClaim(ShownOp shown);

} // namespace blockscope::interpreter::flat
