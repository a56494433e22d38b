// NaN and infinity among the elements of a block.
#pragma once

#include "core/dtype.h"

#include <cstdint>
#include <optional>

namespace blockscope::sanitizer {

enum class FloatClass : uint8_t { Finite, NaN, Plus, Minus };

/// Of one element of a floating dtype.
FloatClass classOf(DType dtype, const void *element);
/// Whether any of `count` elements that lie behind one another is a NaN or an infinity. Fast.
/// Errors: false for dtypes that are not floating.
bool hasNonFinite(DType dtype, const void *elements, int64_t count);
/// The smallest magnitude that a conversion to an fp8 dtype makes too small, since it ends at the
/// largest number that there is: nothing for other dtypes, and for fp8e4b15, which always does.
std::optional<double> saturatesFrom(DType dtype);
/// Whether any is a NaN.
bool hasNaN(DType dtype, const void *elements, int64_t count);

} // namespace blockscope::sanitizer
