// One value of any dtype as a double or an int64: for constants, printing and tests, not for speed.
#pragma once

#include "core/dtype.h"
#include "core/numeric/float_format.h"

#include <string>

namespace blockscope::numeric {

/// Returns the element at `element` as a double. Integers of 64 bits are rounded to nearest.
double readAsDouble(DType dtype, const void *element);

/// Returns an integer element, sign- or zero-extended by the signedness of `dtype`; the bits of a
/// floating one.
int64_t readAsInt(DType dtype, const void *element);

/// Writes `value` to a floating element, rounded once.
void writeDouble(DType dtype, double value, void *element,
                 Rounding rounding = Rounding::NearestEven);

/// Writes the low bits of `value` to an integer element (`Int1`: whether it is odd).
void writeInt(DType dtype, int64_t value, void *element);

/// The shortest text that reads back as the same value: of a double, or of the float that `value`
/// is. A NaN is "nan" whatever its sign bit, which no user has chosen.
std::string shortestText(double value, bool isDouble);

} // namespace blockscope::numeric
