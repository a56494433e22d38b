// Conversions between floats and integers as PTX defines them, so that no input is undefined.
//
// float to int (cvt.rzi): toward zero; out of range gives the nearest limit of the target. NaN
// gives 0, but the minimum of int64 (2^63 as uint64) when the source is a double or the target has
// 64 bits. 8-bit targets go through 16 bits and are then truncated, as LLVM's NVPTX back end does
// (checked with llc 22.1: fptosi to i8 is cvt.rzi.s16), so 510.0 to int8 is -2.
// int to float rounds to nearest even, once (also to fp16 and bf16).
#pragma once

#include "core/numeric/float_format.h"

#include <limits>
#include <type_traits>

namespace blockscope::numeric {

template <typename Int, typename Float> BLK_FORCE_INLINE Int clampedInt(Float value) {
  using Limits = std::numeric_limits<Int>;
  // 2^digits is exact in Float although the maximum of Int may not be.
  constexpr Float kPast = Float(uint64_t(1) << (Limits::digits - 1)) * 2;
  constexpr bool kNanIsHighBit = sizeof(Int) == 8 || std::is_same_v<Float, double>;
  constexpr Int kNan = kNanIsHighBit ? Int(uint64_t(1) << (sizeof(Int) * 8 - 1)) : Int(0);
  constexpr Float kFirst = std::is_signed_v<Int> ? -kPast : Float(0);
  const bool inside = value > kFirst && value < kPast;
  const Int converted = static_cast<Int>(inside ? value : Float(0));
  const Int limit = value >= kPast ? Limits::max() : Limits::min();
  const Int finite = inside ? converted : limit;
  return value != value ? kNan : finite;
}

template <typename Int, typename Float> BLK_FORCE_INLINE Int floatToInt(Float value) {
  if constexpr (sizeof(Int) == 1) {
    using Wide = std::conditional_t<std::is_signed_v<Int>, int16_t, uint16_t>;
    return static_cast<Int>(clampedInt<Wide>(value));
  } else {
    return clampedInt<Int>(value);
  }
}

/// Returns the fp16 or bf16 encoding of an integer, rounded once to nearest even.
///
/// A 64-bit integer does not fit a double; its low bits are folded into a sticky bit first.
template <FloatFormat F, typename Int> BLK_FORCE_INLINE uint32_t encodeInt(Int value) {
  if constexpr (sizeof(Int) <= 2) {
    return encode<F, Rounding::NearestEven>(static_cast<float>(value));
  } else if constexpr (sizeof(Int) == 4) {
    return encode<F, Rounding::NearestEven>(static_cast<double>(value));
  } else {
    const bool negative = std::is_signed_v<Int> && value < 0;
    const uint64_t magnitude = negative ? uint64_t(0) - uint64_t(value) : uint64_t(value);
    const bool large = magnitude >> 52 != 0;
    const uint64_t sticky = (magnitude >> 12) | uint64_t((magnitude & 0xfff) != 0);
    const double exact = large ? double(int64_t(sticky)) * 4096.0 : double(int64_t(magnitude));
    return encode<F, Rounding::NearestEven>(negative ? -exact : exact);
  }
}

} // namespace blockscope::numeric
