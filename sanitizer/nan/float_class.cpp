// Tests the bits of many elements at once; the compiler makes vectors of the inner loops.
#include "sanitizer/nan/float_class.h"

#include "core/numeric/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace blockscope::sanitizer {
namespace {

constexpr int64_t kPart = 256; // a fixed number of iterations, then one test

/// Whether `(bits & mask) >= from` for any element.
template <typename Bits> bool anyFrom(const void *elements, int64_t count, Bits mask, Bits from) {
  const auto *bits = static_cast<const Bits *>(elements);
  int64_t i = 0;
  for (; i + kPart <= count; i += kPart) {
    unsigned any = 0;
    for (int64_t k = 0; k < kPart; ++k)
      any |= static_cast<unsigned>((bits[i + k] & mask) >= from);
    if (any)
      return true;
  }
  return std::any_of(bits + i, bits + count, [&](Bits each) { return (each & mask) >= from; });
}

/// Whether the magnitude of any element is at least `from`: that of infinity, or one above it.
bool anyMagnitude(DType dtype, const void *elements, int64_t count, bool isOnlyNaN) {
  const auto from = [isOnlyNaN](auto infinity) {
    return static_cast<decltype(infinity)>(infinity + (isOnlyNaN ? 1 : 0));
  };
  switch (dtype) {
  case DType::Fp64:
    return anyFrom<uint64_t>(elements, count, ~uint64_t{0} >> 1, from(uint64_t{0x7ff} << 52));
  case DType::Fp32:
    return anyFrom<uint32_t>(elements, count, 0x7fffffffU, from(0x7f800000U));
  case DType::Fp16:
    return anyFrom<uint16_t>(elements, count, 0x7fff, from(uint16_t{0x7c00}));
  case DType::Bf16:
    return anyFrom<uint16_t>(elements, count, 0x7fff, from(uint16_t{0x7f80}));
  case DType::Fp8E5M2:
    return anyFrom<uint8_t>(elements, count, 0x7f, from(uint8_t{0x7c}));
  case DType::Fp8E4M3NV: // NaN is all ones, and there is no infinity
    return anyFrom<uint8_t>(elements, count, 0x7f, 0x7f);
  case DType::Fp8E4M3B8: // NaN is -0
  case DType::Fp8E5M2B16: {
    const auto *bytes = static_cast<const uint8_t *>(elements);
    return std::find(bytes, bytes + count, uint8_t{0x80}) != bytes + count;
  }
  case DType::Fp8E4M3B15:
  case DType::Void:
  case DType::Int1:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
    return false;
  }
  return false;
}

} // namespace

FloatClass classOf(DType dtype, const void *element) {
  if (!hasNonFinite(dtype, element, 1))
    return FloatClass::Finite;
  const double value = numeric::readAsDouble(dtype, element);
  return std::isnan(value) ? FloatClass::NaN : value > 0 ? FloatClass::Plus : FloatClass::Minus;
}

bool hasNonFinite(DType dtype, const void *elements, int64_t count) {
  return anyMagnitude(dtype, elements, count, false);
}

std::optional<double> saturatesFrom(DType dtype) {
  // The largest number and half of what lies between it and the one before.
  if (dtype == DType::Fp8E4M3NV)
    return 448 + 16;
  if (dtype == DType::Fp8E4M3B8)
    return 240 + 8;
  if (dtype == DType::Fp8E5M2 || dtype == DType::Fp8E5M2B16)
    return 57344 + 4096;
  return std::nullopt;
}

bool hasNaN(DType dtype, const void *elements, int64_t count) {
  return anyMagnitude(dtype, elements, count, true);
}

} // namespace blockscope::sanitizer
