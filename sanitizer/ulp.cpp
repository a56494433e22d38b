// Precision and range of each floating dtype.
#include "sanitizer/ulp.h"

#include <algorithm>
#include <cmath>

namespace blockscope::sanitizer {
namespace {

/// Bits of the significand, the first one included, and the smallest normal number as a power of 2.
struct Format {
  int precision, leastExponent;
};

Format formatOf(DType dtype) {
  switch (byteSize(dtype)) {
  case 8:
    return {53, -1022};
  case 4:
    return {24, -126};
  case 2:
    return dtype == DType::Bf16 ? Format{8, -126} : Format{11, -14};
  default:
    return dtype == DType::Fp8E5M2 || dtype == DType::Fp8E5M2B16 ? Format{3, -15} : Format{4, -7};
  }
}

} // namespace

double ulpOf(double value, DType dtype) {
  const Format format = formatOf(dtype);
  const int exponent = value == 0 ? format.leastExponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, format.leastExponent) - format.precision + 1);
}

double leastNormal(DType dtype) { return std::ldexp(1.0, formatOf(dtype).leastExponent); }

} // namespace blockscope::sanitizer
