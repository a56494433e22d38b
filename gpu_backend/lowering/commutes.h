// Whether the order of the two elements of a combine region makes a difference.
#pragma once

#include "mlir/IR/Region.h"

namespace blockscope::gpu {

/// Whether a combine region, on (lhs..., rhs...), is known to give the same when the two elements
/// change places, but where it compares a NaN (such functions are not associative either) and for
/// the signs of zeros that compare equal.
bool commutes(mlir::Region &region);

} // namespace blockscope::gpu
