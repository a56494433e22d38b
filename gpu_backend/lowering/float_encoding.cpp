// See core/numeric/float_format.h for the formats and the algorithm in C++.
#include "gpu_backend/lowering/float_encoding.h"

#include "llvm/ADT/APFloat.h"

namespace blockscope::gpu {

using numeric::FloatFormat;
using numeric::Rounding;
using numeric::Specials;
using Builder = llvm::IRBuilderBase;

namespace {

constexpr int kSourceMantissaBits = 23, kSourceBias = 127;

llvm::Value *atMost(Builder &builder, llvm::Value *x, uint32_t limit) {
  llvm::Value *most = builder.getInt32(limit);
  return builder.CreateSelect(builder.CreateICmpUGT(x, most), most, x);
}

llvm::Value *atLeast(Builder &builder, llvm::Value *x, uint32_t limit) {
  llvm::Value *least = builder.getInt32(limit);
  return builder.CreateSelect(builder.CreateICmpULT(x, least), least, x);
}

llvm::Value *notNegative(Builder &builder, llvm::Value *x) {
  llvm::Value *zero = builder.getInt32(0);
  return builder.CreateSelect(builder.CreateICmpSLT(x, zero), zero, x);
}

/// 2^exponent, for a normal fp32 value.
llvm::Value *powerOfTwo(Builder &builder, int exponent) {
  const llvm::APInt bits(32, uint64_t(exponent + kSourceBias) << kSourceMantissaBits);
  return llvm::ConstantFP::get(builder.getContext(),
                               llvm::APFloat(llvm::APFloat::IEEEsingle(), bits));
}

/// The encoding of a value of the format that is not negative, given as fp32: with its exponent
/// moved by a product, which is exact for subnormals of the format too, as they are some of fp32.
llvm::Value *encodingOf(Builder &builder, llvm::Value *number, const FloatFormat &format) {
  llvm::Value *moved = builder.CreateFMul(number, powerOfTwo(builder, format.bias - kSourceBias));
  return builder.CreateLShr(builder.CreateBitCast(moved, builder.getInt32Ty()),
                            kSourceMantissaBits - format.mantissaBits);
}

/// The bits of the largest value of the format as fp32.
uint32_t largest(const FloatFormat &format) {
  const auto exponent = uint32_t(kSourceBias - format.bias) << kSourceMantissaBits;
  return exponent + (format.maxFinite() << (kSourceMantissaBits - format.mantissaBits));
}

/// The encoding nearest to a magnitude, bits of fp32, even where two are; the largest one for what
/// lies above. Beside a number that is 2^23 of the format's units there, fp32 has no smaller unit:
/// its sum is rounded as the format wants it.
llvm::Value *nearestFinite(Builder &builder, llvm::Value *magnitude, const FloatFormat &format) {
  llvm::Value *limited = atMost(builder, magnitude, largest(format));
  const uint32_t leastNormal = uint32_t(1 - format.bias + kSourceBias) << kSourceMantissaBits;
  llvm::Value *scale = builder.CreateAnd(atLeast(builder, limited, leastNormal), 0x7f800000);
  llvm::Value *units = builder.CreateBitCast(
      builder.CreateAdd(scale, builder.getInt32(uint32_t(kSourceMantissaBits - format.mantissaBits)
                                                << kSourceMantissaBits)),
      builder.getFloatTy());
  llvm::Value *sum =
      builder.CreateFAdd(builder.CreateBitCast(limited, builder.getFloatTy()), units);
  return encodingOf(builder, builder.CreateFSub(sum, units), format);
}

/// The largest encoding that is not above a magnitude, bits of fp32.
llvm::Value *lowerFinite(Builder &builder, llvm::Value *magnitude, const FloatFormat &format) {
  llvm::Value *one = builder.getInt32(1);
  llvm::Value *limited = atMost(builder, magnitude, largest(format));
  // Subnormal floats get an implicit bit that they do not have: they are far below the smallest
  // encoding in any case.
  llvm::Value *significand =
      builder.CreateOr(builder.CreateAnd(limited, 0x7fffff), uint64_t(0x800000));
  llvm::Value *exponent = builder.CreateSub(builder.CreateLShr(limited, kSourceMantissaBits),
                                            builder.getInt32(kSourceBias - format.bias));
  llvm::Value *below = notNegative(builder, builder.CreateSub(one, exponent));
  llvm::Value *shift =
      atMost(builder,
             builder.CreateAdd(below, builder.getInt32(kSourceMantissaBits - format.mantissaBits)),
             kSourceMantissaBits + 2);
  llvm::Value *base = notNegative(builder, builder.CreateSub(exponent, one));
  return builder.CreateAdd(builder.CreateShl(base, format.mantissaBits),
                           builder.CreateLShr(significand, shift));
}

} // namespace

llvm::Value *encodeFp8(Builder &builder, llvm::Value *value, const FloatFormat &format,
                       Rounding rounding) {
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value *magnitude = builder.CreateAnd(bits, 0x7fffffff);
  llvm::Value *sign = builder.CreateAnd(builder.CreateLShr(bits, 24), 0x80);
  llvm::Value *isNan = builder.CreateICmpUGT(magnitude, builder.getInt32(0x7f800000));
  llvm::Value *finite = rounding == Rounding::NearestEven
                            ? nearestFinite(builder, magnitude, format)
                            : lowerFinite(builder, magnitude, format);
  llvm::Value *result = nullptr;
  if (format.specials == Specials::NanAtNegativeZero) {
    llvm::Value *isZero = builder.CreateICmpEQ(finite, builder.getInt32(0));
    result = builder.CreateSelect(isZero, finite, builder.CreateOr(finite, sign));
    result = builder.CreateSelect(isNan, builder.getInt32(format.signMask()), result);
  } else {
    result = builder.CreateSelect(isNan, builder.getInt32(format.magnitudeMask()), finite);
    result = builder.CreateOr(result, sign);
  }
  return builder.CreateTrunc(result, builder.getInt8Ty());
}

llvm::Value *decodeFp8(Builder &builder, llvm::Value *encoding, const FloatFormat &format) {
  llvm::Value *bits = builder.CreateZExt(encoding, builder.getInt32Ty());
  llvm::Value *magnitude = builder.CreateAnd(bits, format.magnitudeMask());
  llvm::Value *sign =
      builder.CreateShl(builder.CreateAnd(bits, format.signMask()), 32 - format.bits());
  // Rebias by a multiplication by a power of two: exact, and right for subnormals too.
  llvm::Value *shifted = builder.CreateShl(magnitude, kSourceMantissaBits - format.mantissaBits);
  const llvm::APFloat scale(llvm::APFloat::IEEEsingle(),
                            llvm::APInt(32, uint64_t(2 * kSourceBias - format.bias) << 23));
  llvm::Value *number = builder.CreateFMul(builder.CreateBitCast(shifted, builder.getFloatTy()),
                                           llvm::ConstantFP::get(builder.getContext(), scale));
  llvm::Value *result = builder.CreateOr(builder.CreateBitCast(number, builder.getInt32Ty()), sign);
  llvm::Value *special = nullptr;
  switch (format.specials) {
  case Specials::Ieee:
    special = builder.CreateICmpUGE(magnitude, builder.getInt32(format.infinity()));
    result = builder.CreateSelect(
        special, builder.CreateOr(builder.CreateOr(shifted, uint64_t(0x7f800000)), sign), result);
    break;
  case Specials::NanOnly:
    special = builder.CreateICmpEQ(magnitude, builder.getInt32(format.magnitudeMask()));
    result = builder.CreateSelect(special, builder.getInt32(0x7fc00000), result);
    break;
  case Specials::NanAtNegativeZero:
    special = builder.CreateICmpEQ(bits, builder.getInt32(format.signMask()));
    result = builder.CreateSelect(special, builder.getInt32(0x7fc00000), result);
    break;
  case Specials::None:
    break;
  }
  return builder.CreateBitCast(result, builder.getFloatTy());
}

llvm::Value *encodeE4M3B15(Builder &builder, llvm::Value *half, llvm::Value *sign,
                           Rounding rounding) {
  llvm::Value *bits =
      builder.CreateZExt(builder.CreateBitCast(half, builder.getInt16Ty()), builder.getInt32Ty());
  llvm::Value *limited = atMost(builder, builder.CreateAnd(bits, 0x7fff), 0x3f00);
  llvm::Value *rounded = builder.CreateShl(limited, 1);
  if (rounding == Rounding::NearestEven)
    rounded = builder.CreateAdd(rounded, builder.getInt32(0x80));
  llvm::Value *magnitude = builder.CreateLShr(rounded, 8);
  llvm::Value *negative = builder.CreateShl(builder.CreateZExt(sign, builder.getInt32Ty()), 7);
  return builder.CreateTrunc(builder.CreateOr(magnitude, negative), builder.getInt8Ty());
}

llvm::Value *decodeE4M3B15(Builder &builder, llvm::Value *encoding) {
  llvm::Value *bits = builder.CreateZExt(encoding, builder.getInt16Ty());
  llvm::Value *sign = builder.CreateShl(builder.CreateAnd(bits, 0x80), 8);
  llvm::Value *magnitude = builder.CreateShl(builder.CreateAnd(bits, 0x7f), 7);
  return builder.CreateBitCast(builder.CreateOr(sign, magnitude), builder.getHalfTy());
}

llvm::Value *decodeE5M2(Builder &builder, llvm::Value *encoding) {
  llvm::Value *bits = builder.CreateShl(builder.CreateZExt(encoding, builder.getInt16Ty()), 8);
  return builder.CreateBitCast(bits, builder.getHalfTy());
}

llvm::Value *roundToOdd(Builder &builder, llvm::Value *cut, llvm::Value *isInexact) {
  llvm::Value *bits = builder.CreateBitCast(cut, builder.getInt32Ty());
  bits = builder.CreateOr(bits, builder.CreateZExt(isInexact, builder.getInt32Ty()));
  return builder.CreateBitCast(bits, builder.getFloatTy());
}

} // namespace blockscope::gpu
