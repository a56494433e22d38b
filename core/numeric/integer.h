// Integer operations without undefined cases: division, shifts, high products.
//
// x / 0 and x % 0 are 0; the minimum divided by -1 is itself, with remainder 0. A shift by the
// width or more gives 0, or the sign for an arithmetic right shift; amounts are taken unsigned.
#pragma once

#include "core/numeric/float_format.h"

#include <type_traits>

namespace blockscope::numeric {

template <typename Int> BLK_FORCE_INLINE Int divide(Int x, Int y) {
  if constexpr (std::is_signed_v<Int>) {
    using U = std::make_unsigned_t<Int>;
    const bool minusOne = y == Int(-1);
    const Int safe = y == 0 || minusOne ? Int(1) : y;
    const Int quotient = static_cast<Int>(x / safe);
    return y == 0 ? Int(0) : (minusOne ? static_cast<Int>(U(0) - U(x)) : quotient);
  } else {
    return y == 0 ? Int(0) : static_cast<Int>(x / (y == 0 ? Int(1) : y));
  }
}

template <typename Int> BLK_FORCE_INLINE Int remainder(Int x, Int y) {
  const bool trivial = y == 0 || (std::is_signed_v<Int> && y == Int(-1));
  return trivial ? Int(0) : static_cast<Int>(x % (trivial ? Int(1) : y));
}

template <typename Int> BLK_FORCE_INLINE Int shiftLeft(Int x, Int by) {
  using U = std::make_unsigned_t<Int>;
  constexpr U kWidth = sizeof(Int) * 8;
  return U(by) >= kWidth ? Int(0) : static_cast<Int>(U(x) << (U(by) & (kWidth - 1)));
}

template <typename Int> BLK_FORCE_INLINE Int shiftRight(Int x, Int by) {
  using U = std::make_unsigned_t<Int>;
  constexpr U kWidth = sizeof(Int) * 8;
  if constexpr (std::is_signed_v<Int>) {
    const U amount = U(by) >= kWidth ? U(kWidth - 1) : U(by);
    return static_cast<Int>(x >> amount);
  } else {
    return U(by) >= kWidth ? Int(0) : static_cast<Int>(x >> (by & (kWidth - 1)));
  }
}

/// Returns the upper half of the full product of two unsigned integers.
BLK_FORCE_INLINE uint32_t multiplyHigh(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(uint64_t(x) * y >> 32);
}
BLK_FORCE_INLINE uint64_t multiplyHigh(uint64_t x, uint64_t y) {
  const uint64_t xLow = uint32_t(x), xHigh = x >> 32, yLow = uint32_t(y), yHigh = y >> 32;
  const uint64_t low = xLow * yLow;
  const uint64_t middle = xHigh * yLow + (low >> 32);
  const uint64_t other = xLow * yHigh + uint32_t(middle);
  return xHigh * yHigh + (middle >> 32) + (other >> 32);
}

} // namespace blockscope::numeric
