// Laws of promotion: every pair of types, and numbers with every type.
#include "tests/unit/semantic/recording_emitter.h"

#include <gtest/gtest.h>

namespace blockscope {
namespace {

constexpr DType kNumbers[] = {DType::Int1,   DType::Int8,  DType::Int16,  DType::Int32,
                              DType::Int64,  DType::UInt8, DType::UInt16, DType::UInt32,
                              DType::UInt64, DType::Fp16,  DType::Bf16,   DType::Fp32,
                              DType::Fp64};

DType sumType(DType lhs, DType rhs) {
  RecordingEmitter emitter;
  Semantic semantic(emitter);
  const Value sum = semantic.binary(BinaryOp::Add, RecordingEmitter::value(lhs, {8}),
                                    RecordingEmitter::value(rhs, {8}));
  EXPECT_FALSE(semantic.failed());
  return sum.type.dtype;
}

TEST(PromotionTest, DoesNotDependOnTheOrder) {
  for (DType lhs : kNumbers)
    for (DType rhs : kNumbers)
      EXPECT_EQ(sumType(lhs, rhs), sumType(rhs, lhs))
          << dtypeName(lhs).str() << " and " << dtypeName(rhs).str();
}

TEST(PromotionTest, KeepsATypeWithItself) {
  for (DType dtype : kNumbers)
    EXPECT_EQ(sumType(dtype, dtype), dtype);
}

TEST(PromotionTest, NeverNarrowsIntegers) {
  for (DType lhs : kNumbers)
    for (DType rhs : kNumbers)
      if (isInteger(lhs) && isInteger(rhs))
        EXPECT_EQ(bitWidth(sumType(lhs, rhs)), std::max(bitWidth(lhs), bitWidth(rhs)));
}

TEST(PromotionTest, HalfTypes) {
  EXPECT_EQ(sumType(DType::Fp16, DType::Bf16), DType::Fp16);
  EXPECT_EQ(sumType(DType::Bf16, DType::Int64), DType::Fp32);
  EXPECT_EQ(sumType(DType::Fp16, DType::Int64), DType::Fp16);
  EXPECT_EQ(sumType(DType::UInt32, DType::Int32), DType::UInt32);
  EXPECT_EQ(sumType(DType::UInt8, DType::Int32), DType::Int32);
}

TEST(PromotionTest, ANumberOfLowerOrEqualKindTakesNoPart) {
  for (DType dtype : kNumbers) {
    RecordingEmitter emitter;
    Semantic semantic(emitter);
    const Value tensor = RecordingEmitter::value(dtype, {8});
    EXPECT_EQ(semantic.binary(BinaryOp::Add, tensor, Scalar::ofBool(true)).type.dtype, dtype);
    if (dtype == DType::Int1)
      continue;
    EXPECT_EQ(semantic.binary(BinaryOp::Mul, Scalar::ofInt(3), tensor).type.dtype, dtype);
    if (isFloating(dtype))
      EXPECT_EQ(semantic.binary(BinaryOp::Sub, tensor, Scalar::ofFloat(1e300)).type.dtype, dtype);
    else
      EXPECT_EQ(semantic.binary(BinaryOp::Sub, tensor, Scalar::ofFloat(0.5)).type.dtype,
                DType::Fp32);
    EXPECT_FALSE(semantic.failed());
  }
}

TEST(PromotionTest, LiteralsTakeTheSmallestType) {
  EXPECT_EQ(literalDType(Scalar::ofBool(true)), DType::Int1);
  EXPECT_EQ(literalDType(Scalar::ofInt(2147483647)), DType::Int32);
  EXPECT_EQ(literalDType(Scalar::ofInt(2147483648)), DType::UInt32);
  EXPECT_EQ(literalDType(Scalar::ofInt(4294967296)), DType::Int64);
  EXPECT_EQ(literalDType(Scalar::ofInt(-2147483649)), DType::Int64);
  EXPECT_EQ(literalDType(Scalar::ofUInt(uint64_t{1} << 63)), DType::UInt64);
  EXPECT_EQ(literalDType(Scalar::ofFloat(0)), DType::Fp32);
  EXPECT_EQ(literalDType(Scalar::ofFloat(1e39)), DType::Fp64);
  EXPECT_EQ(literalDType(Scalar::ofFloat(1e-39)), DType::Fp64);
}

} // namespace
} // namespace blockscope
