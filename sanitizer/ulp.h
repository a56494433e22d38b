// Units in the last place of the floating dtypes.
#pragma once

#include "core/dtype.h"

namespace blockscope::sanitizer {

/// Returns the distance of two neighbours of `dtype` at a finite number.
double ulpOf(double value, DType dtype);
/// Returns the smallest normal number.
double leastNormal(DType dtype);

} // namespace blockscope::sanitizer
