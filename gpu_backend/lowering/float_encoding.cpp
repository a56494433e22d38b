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

llvm::Value *notNegative(Builder &builder, llvm::Value *x) {
  llvm::Value *zero = builder.getInt32(0);
  return builder.CreateSelect(builder.CreateICmpSLT(x, zero), zero, x);
}

/// `value` without its lowest `shift` bits, rounded.
llvm::Value *dropBits(Builder &builder, llvm::Value *value, llvm::Value *shift, Rounding rounding) {
  if (rounding == Rounding::NearestEven) {
    // Half a unit less one, and one more where the last bit that stays is odd.
    llvm::Value *one = builder.getInt32(1);
    llvm::Value *half = builder.CreateShl(one, builder.CreateSub(shift, one));
    llvm::Value *odd = builder.CreateAnd(builder.CreateLShr(value, shift), 1);
    value = builder.CreateAdd(value, builder.CreateAdd(builder.CreateSub(half, one), odd));
  }
  return builder.CreateLShr(value, shift);
}

} // namespace

llvm::Value *encodeFp8(Builder &builder, llvm::Value *value, const FloatFormat &format,
                       Rounding rounding) {
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value *magnitude = builder.CreateAnd(bits, 0x7fffffff);
  llvm::Value *sign = builder.CreateAnd(builder.CreateLShr(bits, 24), 0x80);
  llvm::Value *isNan = builder.CreateICmpUGT(magnitude, builder.getInt32(0x7f800000));

  // Subnormal floats get an implicit bit that they do not have: they are far below half of the
  // smallest encoding in any case.
  llvm::Value *significand =
      builder.CreateOr(builder.CreateAnd(magnitude, 0x7fffff), uint64_t(0x800000));
  llvm::Value *exponent = builder.CreateSub(builder.CreateLShr(magnitude, kSourceMantissaBits),
                                            builder.getInt32(kSourceBias - format.bias));
  llvm::Value *below = notNegative(builder, builder.CreateSub(builder.getInt32(1), exponent));
  llvm::Value *shift =
      atMost(builder,
             builder.CreateAdd(below, builder.getInt32(kSourceMantissaBits - format.mantissaBits)),
             kSourceMantissaBits + 2);
  llvm::Value *kept = dropBits(builder, significand, shift, rounding);
  llvm::Value *base = notNegative(builder, builder.CreateSub(exponent, builder.getInt32(1)));
  llvm::Value *rounded = builder.CreateAdd(builder.CreateShl(base, format.mantissaBits), kept);
  llvm::Value *finite = atMost(builder, rounded, format.maxFinite());

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
