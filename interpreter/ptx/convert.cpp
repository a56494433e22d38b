// cvt: between integers and floats of all widths, and to and from packed narrow floats.
#include "core/numeric/float_to_int.h"
#include "interpreter/ptx/decoder.h"
#include "interpreter/ptx/float_arithmetic.h"

#include <algorithm>

namespace blockscope::interpreter::ptx {
namespace {

using numeric::FloatFormat;
using numeric::Rounding;

/// What stands between cvt and its types.
struct Conversion {
  std::string rounding;  ///< rn, rz, rm, rp, rna, rs, or ""
  std::string toWhole;   ///< rni, rzi, rmi, rpi, or ""
  FloatMode mode;        ///< its flags; `rounding` as fesetround takes it
  bool isFinite = false; ///< .satfinite: the largest number in place of infinity
};

Conversion takeConversion(Decoder &d) {
  Conversion c;
  c.toWhole = d.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  c.rounding = d.takeOneOf({"rna", "rn", "rz", "rm", "rp", "rs"});
  c.mode.rounding = c.rounding == "rz"   ? FE_TOWARDZERO
                    : c.rounding == "rm" ? FE_DOWNWARD
                    : c.rounding == "rp" ? FE_UPWARD
                                         : FE_TONEAREST;
  c.mode.flushes = d.take("ftz");
  c.mode.saturates = d.take("sat");
  c.mode.clips = d.take("relu");
  c.isFinite = d.take("satfinite");
  return c;
}

//===-- Narrow floats ------------------------------------------------------------------------===//

using Encode = uint32_t (*)(double);
using Decode = float (*)(uint32_t);

template <FloatFormat format, Rounding rounding> uint32_t encodeOne(double value) {
  if (format.specials != numeric::Specials::None && value != value)
    return format.magnitudeMask(); // the NaN of PTX
  return numeric::encode<format, rounding>(value);
}

template <FloatFormat format> Encode encoderOf(int rounding) {
  switch (rounding) {
  case FE_TOWARDZERO:
    return encodeOne<format, Rounding::TowardZero>;
  case FE_DOWNWARD:
    return encodeOne<format, Rounding::TowardNegative>;
  case FE_UPWARD:
    return encodeOne<format, Rounding::TowardPositive>;
  default:
    return encodeOne<format, Rounding::NearestEven>;
  }
}

/// ue8m0: the power of two that is not smaller (up) or not larger, of the magnitude.
template <bool up, bool isFinite> uint32_t encodeScale(double value) {
  const double magnitude = std::fabs(value);
  if (value != value || (std::isinf(value) && !isFinite))
    return 0xff;
  if (std::isinf(value))
    return 0xfe;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent); // [0.5, 1) * 2^exponent
  const int power = exponent - 1 + (up && fraction > 0.5 ? 1 : 0);
  if (magnitude == 0 || power < -127)
    return 0;
  return power > 127 ? (isFinite ? 0xfe : 0xff) : static_cast<uint32_t>(power + 127);
}

float decodeScale(uint32_t encoding) {
  return encoding == 0xff ? std::numeric_limits<float>::quiet_NaN()
                          : std::ldexp(1.0F, static_cast<int>(encoding) - 127);
}

struct NarrowFormat {
  llvm::StringLiteral name; ///< of two side by side
  int bits;                 ///< that each takes in the register
  Encode encode;
  Decode decode;
};

constexpr NarrowFormat kPacked[] = {
    {"e4m3x2", 8, encodeOne<numeric::kFp8E4M3NV, Rounding::NearestEven>,
     numeric::decode<numeric::kFp8E4M3NV>},
    {"e5m2x2", 8, encodeOne<numeric::kFp8E5M2, Rounding::NearestEven>,
     numeric::decode<numeric::kFp8E5M2>},
    {"e2m1x2", 4, encodeOne<numeric::kFp4E2M1, Rounding::NearestEven>,
     numeric::decode<numeric::kFp4E2M1>},
    {"e2m3x2", 8, encodeOne<numeric::kFp6E2M3, Rounding::NearestEven>,
     numeric::decode<numeric::kFp6E2M3>},
    {"e3m2x2", 8, encodeOne<numeric::kFp6E3M2, Rounding::NearestEven>,
     numeric::decode<numeric::kFp6E3M2>},
    {"ue8m0x2", 8, encodeScale<false, true>, decodeScale},
};

const NarrowFormat *findPacked(llvm::StringRef type) {
  for (const NarrowFormat &format : kPacked)
    if (format.name == type)
      return &format;
  return nullptr;
}

llvm::StringRef registerOf(const NarrowFormat &format) { return format.bits == 4 ? "b8" : "b16"; }

/// .relu of a conversion: no number is below 0, nor is it -0.
template <typename T> T clipped(const FloatMode &mode, T value) {
  return mode.clips && value <= 0 ? T(0) : value;
}

double decodeHalf(uint32_t bits) { return numeric::decode<numeric::kFp16>(bits & 0xffff); }
double decodeBrain(uint32_t bits) { return numeric::decode<numeric::kBf16>(bits & 0xffff); }

Encode scaleEncoder(Decoder &d, const Conversion &c) {
  if (c.rounding == "rp")
    return c.isFinite ? encodeScale<true, true> : encodeScale<true, false>;
  if (c.rounding != "rz")
    d.fail("'.ue8m0x2' needs '.rz' or '.rp'");
  return c.isFinite ? encodeScale<false, true> : encodeScale<false, false>;
}

/// To two narrow floats: of two fp32, or of a packed pair; the first one goes to the upper bits.
void toPacked(Decoder &d, const Conversion &c, const NarrowFormat &format, llvm::StringRef from) {
  const bool isScale = format.name == "ue8m0x2";
  if (!isScale && (c.rounding != "rn" || !c.isFinite))
    return d.fail("'." + format.name.str() + "' needs '.rn.satfinite'");
  const Encode encode = isScale ? scaleEncoder(d, c) : format.encode;
  const FloatMode mode = c.mode;
  const int bits = format.bits;
  const auto pack = [=](double high, double low) {
    return encode(clipped(mode, high)) << bits | encode(clipped(mode, low));
  };
  if (from == "f32") {
    if (d.plain(registerOf(format), {"f32", "f32"}))
      d.set(each<uint32_t, float, float>([=](float a, float b) { return pack(a, b); }));
  } else if (from == "f16x2" || from == "bf16x2") {
    const auto decode = from == "f16x2" ? decodeHalf : decodeBrain;
    if (d.plain(registerOf(format), {from}))
      d.set(each<uint32_t, uint32_t>([=](uint32_t a) { return pack(decode(a >> 16), decode(a)); }));
  } else {
    d.failType(from);
  }
}

/// From two narrow floats to two of 16 bits; exact.
void fromPacked(Decoder &d, const Conversion &c, llvm::StringRef to, const NarrowFormat &format) {
  if (c.rounding != "rn")
    return d.fail("'.rn' is missing");
  if (to != "f16x2" && to != "bf16x2")
    return d.failType(to);
  const Encode encode = to == "f16x2" ? encoderOf<numeric::kFp16>(FE_TONEAREST)
                                      : encoderOf<numeric::kBf16>(FE_TONEAREST);
  const uint32_t mask = (1U << format.bits) - 1;
  if (d.plain(to, {registerOf(format)}))
    d.set(each<uint32_t, uint32_t>(
        [encode, mask, bits = format.bits, decode = format.decode, mode = c.mode](uint32_t a) {
          const auto part = [&](uint32_t encoding) {
            return encode(clipped(mode, decode(encoding & mask)));
          };
          return part(a >> bits) << 16 | part(a);
        }));
}

/// Encodes into 16 bits with the flags of a conversion.
Encode halfEncoder(llvm::StringRef type, int rounding) {
  return type.starts_with("bf") ? encoderOf<numeric::kBf16>(rounding)
                                : encoderOf<numeric::kFp16>(rounding);
}

/// `largest` is the encoding of the largest number of the format.
uint32_t halfOf(double value, Encode encode, const Conversion &c, uint32_t largest) {
  if (c.mode.saturates)
    value = value > 0 ? std::min(value, 1.0) : 0;
  value = clipped(c.mode, value);
  const uint32_t found = encode(value);
  return c.isFinite && (found & 0x7fff) == largest + 1 ? (found & 0x8000) | largest : found;
}

uint32_t largestOf(llvm::StringRef type) {
  return type.starts_with("bf") ? numeric::kBf16.maxFinite() : numeric::kFp16.maxFinite();
}

/// Two fp32 to f16x2 or bf16x2; with .rs the bits that are cut off are added to random ones first.
void toHalves(Decoder &d, const Conversion &c, llvm::StringRef to) {
  const bool isBrain = to.starts_with("bf"), isRandom = c.rounding == "rs";
  const Encode encode = halfEncoder(to, isRandom ? FE_TOWARDZERO : c.mode.rounding);
  const uint32_t largest = largestOf(to);
  const auto half = [=](float value) { return halfOf(c.mode.flushed(value), encode, c, largest); };
  if (!isRandom) {
    if (c.rounding != "rn" && c.rounding != "rz")
      return d.fail("'." + to.str() + "' needs '.rn', '.rz' or '.rs'");
    if (d.plain(to, {"f32", "f32"}))
      d.set(
          each<uint32_t, float, float>([=](float a, float b) { return half(a) << 16 | half(b); }));
    return;
  }
  const int cut = isBrain ? 16 : 13;
  const int mantissa = isBrain ? 7 : 10, least = isBrain ? -126 : -14;
  const auto randomly = [=](float value, uint32_t random) {
    if (!std::isfinite(value) || value == 0)
      return half(value);
    const int exponent = std::max(std::ilogb(value), least); // of the number below in the format
    const double unit = std::ldexp(1.0, exponent - mantissa);
    const double raised =
        std::fabs(double(value)) + std::ldexp(double(random & ((1U << cut) - 1)), -cut) * unit;
    return halfOf(std::copysign(raised, double(value)), encode, c, largest);
  };
  if (d.plain(to, {"f32", "f32", "b32"}))
    d.set(each<uint32_t, float, float, uint32_t>([=](float a, float b, uint32_t random) {
      return randomly(a, random >> 16) << 16 | randomly(b, random);
    }));
}

void toTf32(Decoder &d, const Conversion &c, llvm::StringRef from) {
  if (from != "f32")
    return d.failType(from);
  if (!d.plain("b32", {"f32"}))
    return;
  const std::string rounding = c.rounding;
  if (rounding != "rna" && rounding != "rn" && rounding != "rz")
    return d.fail("'.tf32' needs '.rna', '.rn' or '.rz'");
  d.set(each<uint32_t, float>([=](float x) {
    x = clipped(c.mode, x);
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) // as an H200 has it: PTX leaves it open
      return rounding == "rna" ? bits & 0xffffe000 : 0x7fffe000;
    if (std::isinf(x))
      return c.isFinite ? (bits & 0x80000000) | 0x7f7fe000 : bits;
    const uint32_t add = rounding == "rna"  ? 0x1000
                         : rounding == "rn" ? 0xfff + (bits >> 13 & 1)
                                            : 0;
    const uint32_t result = (bits + add) & 0xffffe000;
    return c.isFinite && (result & 0x7f800000) == 0x7f800000 ? (bits & 0x80000000) | 0x7f7fe000
                                                             : result;
  }));
}

//===-- Single values ------------------------------------------------------------------------===//

double toWhole(llvm::StringRef mode, double x) {
  return mode == "rzi"   ? std::trunc(x)
         : mode == "rmi" ? std::floor(x)
         : mode == "rpi" ? std::ceil(x)
                         : std::nearbyint(x);
}

void intToInt(Decoder &d, const Conversion &c, llvm::StringRef to, llvm::StringRef from) {
  const bool saturates = c.mode.saturates;
  withInteger(to, [&]<typename To>(To) {
    withInteger(from, [&]<typename From>(From) {
      __extension__ typedef __int128 Wide;
      d.set(each<To, From>([=](From x) {
        return saturates ? static_cast<To>(std::clamp<Wide>(x, std::numeric_limits<To>::min(),
                                                            std::numeric_limits<To>::max()))
                         : static_cast<To>(x);
      }));
    });
  });
}

/// An integer as a double that is rounded to odd, so that it can be rounded again.
template <typename T> double oddDouble(T x) {
  if constexpr (sizeof(T) < 8) {
    return x;
  } else {
    const bool isNegative = std::is_signed_v<T> && x < T(0);
    const uint64_t magnitude = isNegative ? 0 - uint64_t(x) : uint64_t(x);
    const uint64_t odd = magnitude >> 52
                             ? (magnitude & ~uint64_t{0xfff}) | (magnitude & 0xfff ? 0x1000 : 0)
                             : magnitude;
    return isNegative ? -double(odd) : double(odd);
  }
}

void intToFloat(Decoder &d, const Conversion &c, llvm::StringRef to, llvm::StringRef from) {
  if (c.rounding.empty())
    return d.fail("a rounding is missing, such as '.rn'");
  withInteger(from, [&]<typename From>(From) {
    if (to == "f32") {
      d.set(rounded(c.mode.rounding, each<float, From>([=](From x) {
                      return c.mode.finished(static_cast<float>(x));
                    })));
    } else if (to == "f64") {
      d.set(rounded(c.mode.rounding, each<double, From>([=](From x) {
                      return c.mode.finished(static_cast<double>(x));
                    })));
    } else {
      const Encode encode = halfEncoder(to, c.mode.rounding);
      d.set(each<uint32_t, From>([=, largest = largestOf(to)](From x) {
        return halfOf(oddDouble(x), encode, c, largest);
      }));
    }
  });
}

template <typename From> void floatToInt(Decoder &d, const Conversion &c, llvm::StringRef to) {
  using Computed = std::conditional_t<std::is_same_v<From, double>, double, float>;
  if (c.toWhole.empty())
    return d.fail("a rounding is missing, such as '.rzi'");
  withInteger(to, [&]<typename To>(To) {
    d.set(each<To, From>([=, mode = c.toWhole](auto x) {
      const auto value = static_cast<Computed>(x);
      return numeric::clampedInt<To>(
          static_cast<Computed>(toWhole(mode, double(c.mode.taken(value)))));
    }));
  });
}

template <typename From> void floatToFloat(Decoder &d, const Conversion &c, llvm::StringRef to) {
  const std::string whole = c.toWhole;
  const auto value = [=](auto x) {
    const auto input = c.mode.taken(x);
    return whole.empty() ? input : static_cast<decltype(x)>(toWhole(whole, double(input)));
  };
  if (to == "f32")
    d.set(rounded(c.mode.rounding, each<float, From>([=](auto x) {
                    return c.mode.finished(static_cast<float>(value(x)));
                  })));
  else if (to == "f64")
    d.set(
        each<double, From>([=](auto x) { return c.mode.finished(static_cast<double>(value(x))); }));
  else
    d.set(each<uint32_t, From>(
        [=, encode = halfEncoder(to, c.mode.rounding), largest = largestOf(to)](auto x) {
          return halfOf(double(value(x)), encode, c, largest);
        }));
}

int widthOf(llvm::StringRef type) { return blockscope::ptx::typeBits(type); }
bool isInt(llvm::StringRef type) { return type.starts_with("u") || type.starts_with("s"); }
bool isFloat(llvm::StringRef type) {
  return type == "f16" || type == "bf16" || type == "f32" || type == "f64";
}

void single(Decoder &d, const Conversion &c, llvm::StringRef to, llvm::StringRef from) {
  if (!(isInt(to) || isFloat(to)) || widthOf(to) == 0)
    return d.failType(to);
  if (!(isInt(from) || isFloat(from)) || widthOf(from) == 0)
    return d.failType(from);
  const bool narrows =
      isFloat(to) && isFloat(from) &&
      (widthOf(to) < widthOf(from) || (to != from && widthOf(to) == widthOf(from)));
  if (narrows && c.rounding.empty())
    return d.fail("a rounding is missing, such as '.rn'");
  if (c.rounding == "rna" || c.rounding == "rs")
    return d.fail("'." + c.rounding + "' is not possible here");
  if (!d.plain(to, {from}, /*mayBeWider=*/true))
    return;
  if (isInt(from))
    return isInt(to) ? intToInt(d, c, to, from) : intToFloat(d, c, to, from);
  const auto convert = [&]<typename From>() {
    return isInt(to) ? floatToInt<From>(d, c, to) : floatToFloat<From>(d, c, to);
  };
  if (from == "f32")
    convert.operator()<float>();
  else if (from == "f64")
    convert.operator()<double>();
  else if (from == "f16")
    convert.operator()<Half>();
  else
    convert.operator()<Brain>();
}

/// cvt.pack: two s32 into narrow integers, beside what c has of them.
void packIntegers(Decoder &d) {
  if (!d.take("sat"))
    return d.fail("'.sat' is missing");
  const std::string to = d.takeType(), from = d.takeType();
  int bits = 0;
  if (llvm::StringRef(to).drop_front().getAsInteger(10, bits) || bits > 16 || from != "s32")
    return d.failType(to);
  const bool isSigned = to[0] == 's';
  const int64_t low = isSigned ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = (int64_t{1} << (isSigned ? bits - 1 : bits)) - 1;
  const uint32_t mask = (1U << bits) - 1;
  const auto pack = [=](int32_t a, int32_t b) {
    const auto one = [=](int64_t x) {
      return static_cast<uint32_t>(std::clamp(x, low, high)) & mask;
    };
    return one(a) << bits | one(b);
  };
  if (!d.hasModifiers()) {
    if (d.plain("b32", {"b32", "b32"}))
      d.set(each<uint32_t, int32_t, int32_t>(pack));
    return;
  }
  d.take("b32");
  if (d.plain("b32", {"b32", "b32", "b32"}))
    d.set(each<uint32_t, int32_t, int32_t, uint32_t>([=](int32_t a, int32_t b, uint32_t c) {
      return (bits == 16 ? 0 : c << 2 * bits) | pack(a, b);
    }));
}

} // namespace

void decodeConvert(Decoder &d) {
  if (d.name() != "cvt")
    return;
  if (d.take("pack"))
    return packIntegers(d);
  const Conversion c = takeConversion(d);
  const std::string to = d.takeType(), from = d.takeType();
  if (const NarrowFormat *format = findPacked(to))
    return toPacked(d, c, *format, from);
  if (const NarrowFormat *format = findPacked(from))
    return fromPacked(d, c, to, *format);
  if (to == "tf32")
    return toTf32(d, c, from);
  if (to == "f16x2" || to == "bf16x2")
    return from == "f32" ? toHalves(d, c, to) : d.failType(from);
  if (llvm::StringRef(to).ends_with("x4"))
    return d.fail("which of its random bits go to which value is not documented, and so not "
                  "supported on the CPU");
  single(d, c, to, from);
}

} // namespace blockscope::interpreter::ptx
