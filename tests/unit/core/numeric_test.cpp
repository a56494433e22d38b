// Conversions against an independent reference: search among all values of the format.
#include "core/numeric/float_to_int.h"
#include "core/numeric/integer.h"
#include "core/numeric/philox.h"
#include "core/numeric/scalar.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace blockscope;
using namespace blockscope::numeric;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The value of an encoding by the textbook formula, as an independent reference.
template <FloatFormat F> double referenceValue(uint32_t encoding) {
  const bool negative = encoding & F.signMask();
  const uint32_t magnitude = encoding & F.magnitudeMask();
  const uint32_t field = magnitude >> F.mantissaBits, mantissa = magnitude & F.mantissaMask();
  if (F.specials == Specials::Ieee && magnitude >= F.infinity())
    return magnitude == F.infinity() ? (negative ? -kInfinity : kInfinity) : kNan;
  if (F.specials == Specials::NanOnly && magnitude == F.magnitudeMask())
    return kNan;
  if (F.specials == Specials::NanAtNegativeZero && encoding == F.signMask())
    return kNan;
  const double value =
      field == 0 ? std::ldexp(mantissa, 1 - F.bias - F.mantissaBits)
                 : std::ldexp(mantissa + (1u << F.mantissaBits), field - F.bias - F.mantissaBits);
  return negative ? -value : value;
}

/// Rounds by searching the non-negative finite values of the format.
template <FloatFormat F> class ReferenceEncoder {
public:
  ReferenceEncoder() {
    for (uint32_t i = 0; i <= F.maxFinite(); ++i)
      values_.push_back(referenceValue<F>(i));
  }

  uint32_t encode(double value, Rounding rounding) const {
    const uint32_t sign = std::signbit(value) ? F.signMask() : 0;
    const double magnitude = std::fabs(value);
    const uint32_t result = encodeMagnitude(magnitude, rounding);
    if (F.specials == Specials::NanAtNegativeZero && result == 0)
      return 0;
    return sign | result;
  }

private:
  uint32_t encodeMagnitude(double magnitude, Rounding rounding) const {
    const uint32_t last = F.maxFinite();
    const bool saturates = F.overflow == Overflow::Saturate;
    if (std::isinf(magnitude))
      return saturates ? last : F.infinity();
    const uint32_t above = static_cast<uint32_t>(
        std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    const uint32_t below = above - 1;
    if (rounding == Rounding::TowardZero || values_[below] == magnitude)
      return below;
    const double step = below == last ? values_[last] - values_[last - 1] : 0;
    const double next = below == last ? values_[last] + step : values_[above];
    const double down = magnitude - values_[below], up = next - magnitude;
    const uint32_t nearest = down < up || (down == up && below % 2 == 0) ? below : below + 1;
    return nearest > last ? (saturates ? last : F.infinity()) : nearest;
  }

  std::vector<double> values_;
};

template <FloatFormat F>
void expectSameEncoding(const ReferenceEncoder<F> &reference, double value, uint32_t nearest,
                        uint32_t cut) {
  ASSERT_EQ(reference.encode(value, Rounding::NearestEven), nearest) << value;
  ASSERT_EQ(reference.encode(value, Rounding::TowardZero), cut) << value;
}

template <FloatFormat F> void checkFormat() {
  using enum Rounding;
  for (uint32_t i = 0; i < (1u << F.bits()); ++i) {
    const double expected = referenceValue<F>(i);
    const float found = decode<F>(i);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << i;
      continue;
    }
    ASSERT_EQ(found, expected) << i;
    ASSERT_EQ(std::signbit(found), std::signbit(expected)) << i;
    const bool saturated = F.overflow == Overflow::Saturate && std::isinf(expected);
    const uint32_t back = saturated ? (i & F.signMask()) | F.maxFinite() : i;
    ASSERT_EQ((encode<F, NearestEven>(found)), back);
    ASSERT_EQ((encode<F, TowardZero>(found)), back);
    ASSERT_EQ((encode<F, NearestEven>(expected)), back);
  }

  const ReferenceEncoder<F> reference;
  // Every 16-bit float as a source.
  for (uint32_t i = 0; i < 0x10000; ++i)
    for (const float value : {decode<kFp16>(i), decode<kBf16>(i)})
      if (!std::isnan(value))
        expectSameEncoding<F>(reference, value, encode<F, NearestEven>(value),
                              encode<F, TowardZero>(value));
  // Ties, and their neighbours, between every two adjacent values.
  for (uint32_t i = 0; i < F.maxFinite(); ++i) {
    const double tie = (referenceValue<F>(i) + referenceValue<F>(i + 1)) / 2;
    for (const double value : {tie, std::nextafter(tie, 0), std::nextafter(tie, kInfinity), -tie})
      expectSameEncoding<F>(reference, value, encode<F, NearestEven>(value),
                            encode<F, TowardZero>(value));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t bits = random();
    const float single = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double exponents = std::ldexp(1.0 + static_cast<double>(bits >> 12) * 0x1p-52,
                                        static_cast<int>(bits & 0x7f) - 64);
    for (const double value : {double(single), exponents})
      if (!std::isnan(value))
        expectSameEncoding<F>(reference, value, encode<F, NearestEven>(value),
                              encode<F, TowardZero>(value));
    if (!std::isnan(single)) {
      ASSERT_EQ((encode<F, NearestEven>(single)), (encode<F, NearestEven>(double(single))));
    }
  }
  ASSERT_TRUE(std::isnan(decode<F>(encode<F, NearestEven>(float(kNan)))));
  ASSERT_TRUE(std::isnan(decode<F>(encode<F, TowardZero>(kNan))));
}

TEST(NumericTest, Fp16) { checkFormat<kFp16>(); }
TEST(NumericTest, Bf16) { checkFormat<kBf16>(); }
TEST(NumericTest, Fp8E5M2) { checkFormat<kFp8E5M2>(); }
TEST(NumericTest, Fp8E4M3NV) { checkFormat<kFp8E4M3NV>(); }
TEST(NumericTest, Fp8E4M3B8) { checkFormat<kFp8E4M3B8>(); }
TEST(NumericTest, Fp8E5M2B16) { checkFormat<kFp8E5M2B16>(); }

TEST(NumericTest, Fp8E4M3B15RoundTripsAndLimits) {
  for (uint32_t i = 0; i < 256; ++i) {
    const float value = decodeE4M3B15(i);
    const uint32_t limited = (i & 0x7f) == 0x7f ? i - 1 : i;
    EXPECT_EQ((encodeE4M3B15<Rounding::NearestEven>(value)), limited);
    EXPECT_EQ((encodeE4M3B15<Rounding::TowardZero>(value)), limited);
  }
  EXPECT_EQ(decodeE4M3B15(0x7e), 1.75f);
  EXPECT_EQ((encodeE4M3B15<Rounding::NearestEven>(100.0f)), 0x7eu);
  EXPECT_EQ((encodeE4M3B15<Rounding::NearestEven>(-kInfinity)), 0xfeu);
  // A tie goes away from zero: 1 + 1/16 is half way between 0x78 and 0x79.
  EXPECT_EQ((encodeE4M3B15<Rounding::NearestEven>(1.0625f)), 0x79u);
  EXPECT_EQ((encodeE4M3B15<Rounding::TowardZero>(1.0625f)), 0x78u);
}

TEST(NumericTest, DoubleToFp32MatchesTheProcessor) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000000; ++i) {
    const uint64_t bits =
        i % 2 ? random()
              : (random() & ~(uint64_t(0x7ff) << 52)) | (uint64_t(880 + random() % 280) << 52);
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value))
      continue;
    const float nearest = static_cast<float>(value);
    ASSERT_EQ((encode<kFp32, Rounding::NearestEven>(value)), std::bit_cast<uint32_t>(nearest));
    const float cut = std::bit_cast<float>(encode<kFp32, Rounding::TowardZero>(value));
    ASSERT_LE(std::fabs(cut), std::fabs(value));
    ASSERT_TRUE(cut == nearest || std::nextafter(cut, std::copysign(INFINITY, cut)) == nearest);
  }
}

TEST(NumericTest, Tf32KeepsTenBitsTiesAway) {
  EXPECT_EQ(roundToTf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(roundToTf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(roundToTf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_EQ(roundToTf32(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(roundToTf32(NAN)));
}

template <typename Int> Int referenceFloatToInt(double value, bool fromDouble) {
  using Limits = std::numeric_limits<Int>;
  const bool highBit = sizeof(Int) == 8 || fromDouble;
  if (std::isnan(value))
    return highBit ? Int(uint64_t(1) << (sizeof(Int) * 8 - 1)) : Int(0);
  const long double cut = std::trunc(static_cast<long double>(value));
  if (cut < static_cast<long double>(Limits::min()))
    return Limits::min();
  if (cut > static_cast<long double>(Limits::max()))
    return Limits::max();
  return static_cast<Int>(cut);
}

template <typename Int> void checkFloatToInt() {
  std::mt19937_64 random(3);
  std::vector<double> values = {
      0.0,        -0.0,       0.5,           -0.5,          0.99,         1.5,          127.5,
      -128.5,     255.9,      256,           32767.6,       -32768.9,     65535.5,      65536,
      2147483647, 2147483648, -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 0x1p63,
      -0x1p63,    0x1p64,     1e30,          -1e30,         kInfinity,    -kInfinity,   kNan};
  for (int i = 0; i < 300000; ++i)
    values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63,
                                static_cast<int>(random() % 70)));
  for (const double value : values) {
    const float single = static_cast<float>(value);
    if constexpr (sizeof(Int) == 1) {
      using Wide = std::conditional_t<std::is_signed_v<Int>, int16_t, uint16_t>;
      ASSERT_EQ(floatToInt<Int>(value), static_cast<Int>(referenceFloatToInt<Wide>(value, true)));
      ASSERT_EQ(floatToInt<Int>(single),
                static_cast<Int>(referenceFloatToInt<Wide>(single, false)));
    } else {
      ASSERT_EQ(floatToInt<Int>(value), referenceFloatToInt<Int>(value, true)) << value;
      ASSERT_EQ(floatToInt<Int>(single), referenceFloatToInt<Int>(single, false)) << single;
    }
  }
}

TEST(NumericTest, FloatToIntSaturatesAsPtx) {
  checkFloatToInt<int8_t>();
  checkFloatToInt<uint8_t>();
  checkFloatToInt<int16_t>();
  checkFloatToInt<uint16_t>();
  checkFloatToInt<int32_t>();
  checkFloatToInt<uint32_t>();
  checkFloatToInt<int64_t>();
  checkFloatToInt<uint64_t>();
  EXPECT_EQ(floatToInt<int8_t>(510.0f), -2);
  EXPECT_EQ(floatToInt<int8_t>(-200.0f), 56);
  EXPECT_EQ(floatToInt<int32_t>(NAN), 0);
  EXPECT_EQ(floatToInt<int64_t>(NAN), std::numeric_limits<int64_t>::min());
}

TEST(NumericTest, IntToSmallFloatRoundsOnce) {
  const ReferenceEncoder<kBf16> bf16;
  const ReferenceEncoder<kFp16> fp16;
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    const int64_t value = static_cast<int64_t>(random()) >> (random() % 64);
    if (std::llabs(value) >> 53 == 0) {
      ASSERT_EQ((encodeInt<kBf16>(value)), bf16.encode(double(value), Rounding::NearestEven));
      ASSERT_EQ((encodeInt<kFp16>(value)), fp16.encode(double(value), Rounding::NearestEven));
    }
    ASSERT_EQ((encodeInt<kBf16>(int32_t(value))),
              bf16.encode(double(int32_t(value)), Rounding::NearestEven));
  }
  // Just above a tie by less than a double can hold.
  const int64_t aboveTie = (int64_t(0x101) << 54) + 1;
  EXPECT_EQ((encodeInt<kBf16>(aboveTie)), (encode<kBf16, Rounding::NearestEven>(0x102p54)));
  EXPECT_EQ((encodeInt<kBf16>(aboveTie - 1)), (encode<kBf16, Rounding::NearestEven>(0x100p54)));
}

TEST(NumericTest, IntegerOperationsHaveNoUndefinedCases) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(divide<int32_t>(7, 0), 0);
  EXPECT_EQ(remainder<int32_t>(7, 0), 0);
  EXPECT_EQ(divide<int32_t>(kMin, -1), kMin);
  EXPECT_EQ(remainder<int32_t>(kMin, -1), 0);
  EXPECT_EQ(divide<int32_t>(-7, 2), -3);
  EXPECT_EQ(remainder<int32_t>(-7, 2), -1);
  EXPECT_EQ(divide<uint8_t>(200, 3), 66);
  EXPECT_EQ(shiftLeft<int32_t>(1, 32), 0);
  EXPECT_EQ(shiftLeft<int32_t>(1, -1), 0);
  EXPECT_EQ(shiftRight<int32_t>(-5, 40), -1);
  EXPECT_EQ(shiftRight<uint32_t>(5, 40), 0u);
  EXPECT_EQ(shiftRight<int8_t>(-128, 7), -1);
}

TEST(NumericTest, MultiplyHigh) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t x = random(), y = random();
    ASSERT_EQ(multiplyHigh(x, y), static_cast<uint64_t>((unsigned __int128)(x)*y >> 64));
    ASSERT_EQ(multiplyHigh(uint32_t(x), uint32_t(y)), uint64_t(uint32_t(x)) * uint32_t(y) >> 32);
  }
}

/// The known-answer vectors published with Random123 (philox4x32-10).
TEST(NumericTest, PhiloxKnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(NumericTest, ScalarsReadBackWhatWasWritten) {
  unsigned char element[8] = {};
  for (const DType dtype :
       {DType::Fp8E4M3NV, DType::Fp8E4M3B8, DType::Fp8E4M3B15, DType::Fp8E5M2, DType::Fp8E5M2B16,
        DType::Fp16, DType::Bf16, DType::Fp32, DType::Fp64}) {
    writeDouble(dtype, -1.5, element);
    EXPECT_EQ(readAsDouble(dtype, element), -1.5) << dtypeName(dtype).str();
  }
  for (const DType dtype : {DType::Int8, DType::Int16, DType::Int32, DType::Int64}) {
    writeInt(dtype, -7, element);
    EXPECT_EQ(readAsInt(dtype, element), -7);
    EXPECT_EQ(readAsDouble(dtype, element), -7.0);
  }
  writeInt(DType::UInt16, -1, element);
  EXPECT_EQ(readAsInt(DType::UInt16, element), 65535);
}

TEST(DTypeTest, NamesParseBack) {
  for (int i = 0; i <= static_cast<int>(DType::Fp64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parseDType(dtypeName(dtype)), dtype);
    EXPECT_EQ(parseDType(languageName(dtype)), dtype);
  }
  EXPECT_EQ(storageDType(DType::UInt16), DType::Int16);
  EXPECT_EQ(byteSize(DType::Int1), 1);
  EXPECT_FALSE(parseDType("float7"));
}

} // namespace
