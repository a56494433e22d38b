// The emitted conversions of 8-bit floats against the CPU's: constants go in, and LLVM's builder
// folds them, so constants come out and nothing has to be run.
#include "gpu_backend/lowering/float_encoding.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace blockscope::gpu {
namespace {

using numeric::FloatFormat;
using numeric::Rounding;

class FloatEncodingTest : public testing::Test {
protected:
  llvm::Value *single(float value) {
    return llvm::ConstantExpr::getBitCast(builder_.getInt32(std::bit_cast<uint32_t>(value)),
                                          builder_.getFloatTy());
  }
  llvm::Value *half(uint32_t bits) {
    return llvm::ConstantExpr::getBitCast(builder_.getInt16(static_cast<uint16_t>(bits)),
                                          builder_.getHalfTy());
  }
  static uint32_t number(llvm::Value *value) {
    return static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(value)->getZExtValue());
  }
  static float number32(llvm::Value *value) {
    const llvm::APFloat &result = llvm::cast<llvm::ConstantFP>(value)->getValueAPF();
    return std::bit_cast<float>(static_cast<uint32_t>(result.bitcastToAPInt().getZExtValue()));
  }
  static uint32_t number16(llvm::Value *value) {
    const llvm::APFloat &result = llvm::cast<llvm::ConstantFP>(value)->getValueAPF();
    return static_cast<uint32_t>(result.bitcastToAPInt().getZExtValue());
  }

  template <FloatFormat F, Rounding R> void checkEncoding() {
    // Three mantissa bits stay and the fourth is the half: what follows matters only as zero or
    // not. So these are all cases of all floats.
    for (uint32_t top = 0; top < 1u << 14; ++top)
      for (const uint32_t rest : {0u, 1u, 0x3ffffu}) {
        const auto value = std::bit_cast<float>(top << 18 | rest);
        const uint32_t expected = numeric::encode<F, R>(value);
        const uint32_t found = number(encodeFp8(builder_, single(value), F, R));
        if (std::isnan(value)) // sign and payload are free
          ASSERT_TRUE(std::isnan(numeric::decode<F>(found))) << std::hex << (top << 18 | rest);
        else
          ASSERT_EQ(found, expected) << std::hex << (top << 18 | rest);
      }
  }
  template <FloatFormat F> void checkFormat() {
    checkEncoding<F, Rounding::NearestEven>();
    checkEncoding<F, Rounding::TowardZero>();
    for (uint32_t encoding = 0; encoding < 256; ++encoding) {
      const float expected = numeric::decode<F>(encoding);
      const float found =
          number32(decodeFp8(builder_, builder_.getInt8(static_cast<uint8_t>(encoding)), F));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << encoding;
      else
        EXPECT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected)) << encoding;
    }
  }

  llvm::LLVMContext context_;
  llvm::IRBuilder<> builder_{context_};
};

TEST_F(FloatEncodingTest, E5M2IsAsOnTheCpu) { checkFormat<numeric::kFp8E5M2>(); }
TEST_F(FloatEncodingTest, E4M3NVIsAsOnTheCpu) { checkFormat<numeric::kFp8E4M3NV>(); }
TEST_F(FloatEncodingTest, E4M3B8IsAsOnTheCpu) { checkFormat<numeric::kFp8E4M3B8>(); }
TEST_F(FloatEncodingTest, E5M2B16IsAsOnTheCpu) { checkFormat<numeric::kFp8E5M2B16>(); }

TEST_F(FloatEncodingTest, E4M3B15IsAsOnTheCpu) {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const float value = numeric::decode<numeric::kFp16>(bits);
    llvm::Value *sign = builder_.getInt1(bits >> 15);
    ASSERT_EQ(number(encodeE4M3B15(builder_, half(bits), sign, Rounding::NearestEven)),
              numeric::encodeE4M3B15<Rounding::NearestEven>(value))
        << bits;
    ASSERT_EQ(number(encodeE4M3B15(builder_, half(bits), sign, Rounding::TowardZero)),
              numeric::encodeE4M3B15<Rounding::TowardZero>(value))
        << bits;
  }
}

TEST_F(FloatEncodingTest, HalvesHoldE5M2AndE4M3B15) {
  for (uint32_t encoding = 0; encoding < 256; ++encoding) {
    llvm::Value *byte = builder_.getInt8(static_cast<uint8_t>(encoding));
    const float wide = numeric::decode<numeric::kFp16>(number16(decodeE4M3B15(builder_, byte)));
    EXPECT_EQ(wide, numeric::decodeE4M3B15(encoding));
    const float value = numeric::decode<numeric::kFp16>(number16(decodeE5M2(builder_, byte)));
    const float expected = numeric::decode<numeric::kFp8E5M2>(encoding);
    EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << encoding;
  }
}

TEST_F(FloatEncodingTest, RoundingToOddFirstRoundsOnce) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Near the halves of the target, with and without a small rest.
    const double exact = std::ldexp(static_cast<double>(random() % 64), int(random() % 24) - 16);
    const double rest = std::ldexp(static_cast<double>(int(random() % 3) - 1), -45);
    const double value = (random() & 1 ? -1 : 1) * (exact + exact * rest);
    const auto cut =
        std::bit_cast<float>(numeric::encode<numeric::kFp32, Rounding::TowardZero>(value));
    llvm::Value *odd = roundToOdd(builder_, single(cut), builder_.getInt1(double(cut) != value));
    constexpr Rounding kNear = Rounding::NearestEven;
    ASSERT_EQ((numeric::encode<numeric::kFp8E4M3NV, kNear>(number32(odd))),
              (numeric::encode<numeric::kFp8E4M3NV, kNear>(value)))
        << value;
    ASSERT_EQ((numeric::encode<numeric::kFp16, kNear>(number32(odd))),
              (numeric::encode<numeric::kFp16, kNear>(value)))
        << value;
  }
}

} // namespace
} // namespace blockscope::gpu
