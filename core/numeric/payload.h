// Floats as integers for the algebra check: a bijection between the bit patterns of a float type
// and integers of as many bits, in which 0, 1 and -1 stay what they are.
//
// The rules are those of Triton 3.9's instrumentation mode "fpsan", so that results compare.
#pragma once

#include "core/numeric/float_format.h"

#include <bit>
#include <cstdint>

namespace blockscope::numeric {

/// Returns the inverse of an odd number modulo 2^64.
constexpr uint64_t inverseOfOdd(uint64_t odd) {
  uint64_t x = 2 - odd; // right in two bits; each step doubles them
  for (int bits = 2; bits < 64; bits *= 2)
    x *= 2 - odd * x;
  return x;
}

/// The bijection of one float type. The magnitude is multiplied, mixed and multiplied again modulo
/// 2^(bits - 1), negative ones by the opposite number, so that payload(-x) = -payload(x).
struct Payload {
  int bits;           ///< of the type
  int shift;          ///< of the mixing: how many low bits of 1.0 are 0
  uint64_t sign;      ///< the highest bit
  uint64_t first;     ///< the first factor
  uint64_t second;    ///< the second factor of positive numbers
  uint64_t firstBack; ///< their inverses
  uint64_t secondBack;

  constexpr Payload(int bits, uint64_t one)
      : bits(bits), shift(std::countr_zero(one)), sign(uint64_t{1} << (bits - 1)),
        first(14940041 & (sign - 1)), second(0), firstBack(inverseOfOdd(first)), secondBack(0) {
    const uint64_t product = one * first & (sign - 1);
    secondBack = product ^ product >> shift; // what 1.0 is then, and is to be 1
    second = inverseOfOdd(secondBack);
  }

  /// Returns the payload of a bit pattern.
  BLK_FORCE_INLINE constexpr uint64_t embed(uint64_t pattern) const {
    const uint64_t low = pattern * first & (sign - 1);
    return times(low ^ low >> shift, pattern & sign, second);
  }
  /// Returns the bit pattern of a payload.
  BLK_FORCE_INLINE constexpr uint64_t unembed(uint64_t payload) const {
    uint64_t mixed = times(payload & (sign - 1), payload & sign, secondBack) & (sign - 1);
    for (int by = shift; by < bits; by *= 2)
      mixed ^= mixed >> by;
    return (mixed * firstBack & (sign - 1)) | (payload & sign);
  }

private:
  /// The magnitude times a factor, or its opposite where the sign is set, and the sign.
  BLK_FORCE_INLINE constexpr uint64_t times(uint64_t low, uint64_t isNegative,
                                            uint64_t factor) const {
    return (low * (isNegative ? 0 - factor : factor) & (sign - 1)) | isNegative;
  }
};

} // namespace blockscope::numeric
