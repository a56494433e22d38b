// How far the elements of a block of integers lie apart, where that is certain: indices and their
// sums, differences and multiples. Unlike what axis_info.h knows, it holds where they wrap, too.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace blockscope::gpu {

/// By how much the elements of `block` grow from one to the next along each dimension, modulo two
/// to the bits of an element. Nothing where that is not known, or not the same everywhere.
std::optional<llvm::SmallVector<int64_t, 3>> exactSteps(mlir::Value block);

} // namespace blockscope::gpu
