// Binary floating-point formats of 8 to 32 bits as data, and exact conversions written once for
// all.
//
// `decode` is exact. `encode` rounds once, from the bits of a float or a double, with integer
// arithmetic only, so it gives the same bits on every machine and vectorises.
// Every function here is forced inline: the SIMD kernels include this file in translation units
// compiled for several instruction sets, and no copy may be shared between them by the linker.
#pragma once

#include <bit>
#include <cstdint>

#define BLK_FORCE_INLINE [[gnu::always_inline]] inline

namespace blockscope::numeric {

enum class Rounding : uint8_t { NearestEven, TowardZero, TowardNegative, TowardPositive };

/// What the largest encodings mean.
enum class Specials : uint8_t {
  Ieee,              ///< infinities and NaNs as in IEEE 754
  NanOnly,           ///< no infinity; only all ones (either sign) is NaN: the "fn" formats
  NanAtNegativeZero, ///< no infinity, no negative zero; its encoding is the only NaN: "fnuz"
  None,              ///< every encoding is a number; NaN becomes the largest one
};

/// What a finite value that rounds past the largest finite one becomes, and what infinity becomes.
enum class Overflow : uint8_t { Infinity, Saturate };

struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  int bias;
  Specials specials;
  Overflow overflow;

  constexpr int bits() const { return 1 + exponentBits + mantissaBits; }
  constexpr uint32_t signMask() const { return uint32_t(1) << (exponentBits + mantissaBits); }
  constexpr uint32_t magnitudeMask() const { return signMask() - 1; }
  constexpr uint32_t mantissaMask() const { return (uint32_t(1) << mantissaBits) - 1; }
  constexpr uint32_t infinity() const { return magnitudeMask() & ~mantissaMask(); }
  constexpr uint32_t maxFinite() const {
    switch (specials) {
    case Specials::Ieee:
      return infinity() - 1;
    case Specials::NanOnly:
      return magnitudeMask() - 1;
    case Specials::NanAtNegativeZero:
    case Specials::None:
      return magnitudeMask();
    }
    return 0;
  }
};

inline constexpr FloatFormat kFp32{8, 23, 127, Specials::Ieee, Overflow::Infinity};
inline constexpr FloatFormat kFp16{5, 10, 15, Specials::Ieee, Overflow::Infinity};
inline constexpr FloatFormat kBf16{8, 7, 127, Specials::Ieee, Overflow::Infinity};
/// Conversions to fp8 saturate, infinity included, as cvt.rn.satfinite does on NVIDIA.
inline constexpr FloatFormat kFp8E5M2{5, 2, 15, Specials::Ieee, Overflow::Saturate};
inline constexpr FloatFormat kFp8E4M3NV{4, 3, 7, Specials::NanOnly, Overflow::Saturate};
inline constexpr FloatFormat kFp8E4M3B8{4, 3, 8, Specials::NanAtNegativeZero, Overflow::Saturate};
inline constexpr FloatFormat kFp8E5M2B16{5, 2, 16, Specials::NanAtNegativeZero, Overflow::Saturate};

/// The formats of mxfp4 and mxfp6.
inline constexpr FloatFormat kFp4E2M1{2, 1, 1, Specials::None, Overflow::Saturate};
inline constexpr FloatFormat kFp6E2M3{2, 3, 1, Specials::None, Overflow::Saturate};
inline constexpr FloatFormat kFp6E3M2{3, 2, 3, Specials::None, Overflow::Saturate};

template <typename Source> struct SourceFormat;
template <> struct SourceFormat<float> {
  using Bits = uint32_t;
  using SignedBits = int32_t;
  static constexpr int kMantissaBits = 23, kBias = 127;
};
template <> struct SourceFormat<double> {
  using Bits = uint64_t;
  using SignedBits = int64_t;
  static constexpr int kMantissaBits = 52, kBias = 1023;
};

/// Returns the value of an encoding of at most 16 bits; exact. NaNs are quiet and keep sign and
/// payload where the format has them.
template <FloatFormat F> BLK_FORCE_INLINE float decode(uint32_t encoding) {
  const uint32_t sign = (encoding & F.signMask()) << (32 - F.bits());
  const uint32_t magnitude = encoding & F.magnitudeMask();
  if constexpr (F.exponentBits == 8) {
    const uint32_t isNan = magnitude > F.infinity();
    return std::bit_cast<float>(sign | magnitude << (23 - F.mantissaBits) | isNan << 22);
  } else {
    // Rebias by a multiplication by a power of two: exact, and right for subnormals too.
    constexpr uint32_t kScaleBits = uint32_t(127 + 127 - F.bias) << 23;
    const uint32_t shifted = magnitude << (23 - F.mantissaBits);
    uint32_t result =
        std::bit_cast<uint32_t>(std::bit_cast<float>(shifted) * std::bit_cast<float>(kScaleBits));
    if constexpr (F.specials == Specials::Ieee) {
      const uint32_t special = 0x7f800000u | shifted | (magnitude > F.infinity() ? 1u << 22 : 0u);
      result = magnitude >= F.infinity() ? special : result;
    } else if constexpr (F.specials == Specials::NanOnly) {
      result = magnitude == F.magnitudeMask() ? 0x7fc00000u : result;
    } else if constexpr (F.specials == Specials::NanAtNegativeZero) {
      result = encoding == F.signMask() ? 0x7fc00000u : result;
      return std::bit_cast<float>(result | (encoding == F.signMask() ? 0u : sign));
    }
    return std::bit_cast<float>(result | sign);
  }
}

/// Returns the encoding nearest to `value` in the sense of `R`: one rounding from the exact value.
/// Overflow and infinity follow `F.overflow`; toward zero never rounds to infinity.
/// NaN gives a quiet NaN: sign and top payload bits kept in IEEE formats, the only NaN elsewhere.
template <FloatFormat F, Rounding R, typename Source>
BLK_FORCE_INLINE uint32_t encode(Source value) {
  using S = SourceFormat<Source>;
  using Bits = typename S::Bits;
  using SignedBits = typename S::SignedBits;
  constexpr int kTotal = int(sizeof(Bits)) * 8;
  constexpr Bits kSourceInfinity = (Bits(1) << (kTotal - 1)) - (Bits(1) << S::kMantissaBits);
  constexpr Bits kImplicit = Bits(1) << S::kMantissaBits;
  constexpr SignedBits kMaxShift = S::kMantissaBits + 2;

  const Bits bits = std::bit_cast<Bits>(value);
  const Bits magnitude = bits & (~Bits(0) >> 1);
  const uint32_t sign = uint32_t(bits >> (kTotal - 1)) << (F.bits() - 1);

  const SignedBits field = SignedBits(magnitude >> S::kMantissaBits);
  const Bits significand = (magnitude & (kImplicit - 1)) | (field ? kImplicit : Bits(0));
  const SignedBits exponent = (field ? field : 1) - S::kBias + F.bias;
  const SignedBits below = exponent < 1 ? 1 - exponent : 0; // how far into the subnormals
  const SignedBits wanted = S::kMantissaBits - F.mantissaBits + below;
  const SignedBits shift = wanted > kMaxShift ? kMaxShift : wanted;
  Bits kept = significand >> shift;
  if constexpr (R == Rounding::NearestEven) {
    const Bits rest = significand & ((Bits(1) << shift) - 1);
    const Bits half = shift ? (Bits(1) << shift) >> 1 : Bits(1);
    kept += Bits(rest > half) | (Bits(rest == half) & kept & 1);
  } else if constexpr (R != Rounding::TowardZero) {
    const Bits rest = significand & ((Bits(1) << shift) - 1);
    kept += Bits(rest != 0 && (sign != 0) == (R == Rounding::TowardNegative));
  }
  const SignedBits base = exponent < 1 ? 0 : exponent - 1;
  // Past 2^bits the sum is only compared, and the exponent of a double fits 64 bits.
  const Bits rounded = (Bits(base) << F.mantissaBits) + kept;

  // Rounding away from zero ends in infinity, rounding toward zero in the largest finite value.
  const bool isAway = R == Rounding::NearestEven ||
                      (R != Rounding::TowardZero && (sign != 0) == (R == Rounding::TowardNegative));
  const uint32_t overflowed =
      F.overflow == Overflow::Infinity && isAway ? F.infinity() : F.maxFinite();
  constexpr uint32_t kInfinity = F.overflow == Overflow::Infinity ? F.infinity() : F.maxFinite();
  uint32_t result = rounded > Bits(F.maxFinite()) ? overflowed : uint32_t(rounded);
  result = magnitude == kSourceInfinity ? kInfinity : result;
  if constexpr (F.specials == Specials::Ieee) {
    const uint32_t payload =
        uint32_t((magnitude >> (S::kMantissaBits - F.mantissaBits)) & F.mantissaMask());
    const uint32_t nan = F.infinity() | payload | uint32_t(1) << (F.mantissaBits - 1);
    return sign | (magnitude > kSourceInfinity ? nan : result);
  } else if constexpr (F.specials == Specials::NanOnly) {
    return sign | (magnitude > kSourceInfinity ? F.magnitudeMask() : result);
  } else if constexpr (F.specials == Specials::None) {
    return magnitude > kSourceInfinity ? F.maxFinite() : sign | result;
  } else {
    const uint32_t finite = result ? sign | result : 0; // there is no negative zero
    return magnitude > kSourceInfinity ? F.signMask() : finite;
  }
}

/// fp8e4b15: sign, 4 exponent bits, 3 mantissa bits, bias 15; every encoding is a number. It is
/// the upper bits of an fp16 whose top exponent bit is 0.
BLK_FORCE_INLINE float decodeE4M3B15(uint32_t encoding) {
  return decode<kFp16>((encoding & 0x80u) << 8 | (encoding & 0x7fu) << 7);
}

/// As Triton's software conversion: wider values are first cut to fp16 toward zero; the magnitude
/// is limited to 1.75 (NaN too), then rounded to nearest, ties away from zero (or toward zero).
template <Rounding R, typename Source> BLK_FORCE_INLINE uint32_t encodeE4M3B15(Source value) {
  const uint32_t half = encode<kFp16, Rounding::TowardZero>(value);
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t limited = magnitude > 0x3f00u ? 0x3f00u : magnitude;
  const uint32_t rounded = limited * 2 + (R == Rounding::NearestEven ? 0x80u : 0u);
  return (half & 0x8000u) >> 8 | rounded >> 8;
}

/// Rounds to the 10 mantissa bits of tf32: nearest, ties away from zero (cvt.rna.tf32), which is
/// what mma operands get. Infinity and NaN stay.
BLK_FORCE_INLINE float roundToTf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  return std::bit_cast<float>(finite ? (bits + 0x1000u) & 0xffffe000u : bits);
}

} // namespace blockscope::numeric
