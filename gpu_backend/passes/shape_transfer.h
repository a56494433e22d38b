// How layouts go through ops that only move or combine elements in place.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace blockscope::gpu {

/// Whether element i of the results, which are blocks, belongs to the thread that has element i of
/// each operand.
bool keepsLayout(mlir::Operation *op);
/// Whether an op has the elements of its one operand, each once, under other numbers: it asks for
/// its operand's layout by operandLayout.
bool isRenaming(mlir::Operation *op);
/// The layout that operand `operand` of a block op must have for its results to have `result`, with
/// no element leaving its thread; nothing for ops that are not of this kind.
std::optional<LinearLayout> operandLayout(mlir::Operation *op, unsigned operand,
                                          const LinearLayout &result);
/// The layout that the results get when operand `operand` has `layout`; nothing as above.
std::optional<LinearLayout> resultLayout(mlir::Operation *op, unsigned operand,
                                         const LinearLayout &layout);
/// For each bit of an element of the result the bits of the element of the (first) operand that it
/// is taken from, for tl.expand_dims, broadcast, reshape and trans.
Bases elementMap(mlir::Operation *op);

} // namespace blockscope::gpu
