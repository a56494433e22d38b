// What a program does with the result of an atomic, read off the block IR.
#pragma once

#include "interpreter/events.h"

#include "mlir/IR/Value.h"

namespace blockscope::interpreter::flat {

/// Whether a value may decide what its program does: a branch, the end of a loop, which elements an
/// access touches, what an atomic leaves, an assert, a choice. True where that is not known.
ResultUse useOf(mlir::Value result);

} // namespace blockscope::interpreter::flat
