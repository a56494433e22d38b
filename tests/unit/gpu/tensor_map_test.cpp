// Expressions of tensor maps: wrapping, widths, and what has no value.
#include "gpu_backend/driver/tensor_map_encoder.h"

#include <gtest/gtest.h>

#include <array>

namespace blockscope {
namespace {

constexpr std::array<uint64_t, 3> kArguments = {4096, 0xFFFFFFFFULL, 0x1234567800000010ULL};

std::optional<int64_t> value(std::string_view expression) {
  return evaluate(expression, kArguments.data(), static_cast<int>(kArguments.size()));
}

TEST(TensorMapExpression, Arguments) {
  EXPECT_EQ(value("a0"), 4096);
  EXPECT_EQ(value("a1"), 0xFFFFFFFFLL);
  EXPECT_EQ(value("a1 s32"), -1);
  EXPECT_EQ(value("a1 s32 u32"), 0xFFFFFFFFLL);
  EXPECT_EQ(value("a2 s32"), 16);
  EXPECT_EQ(value("a2 s8"), 16);
  EXPECT_EQ(value("a3"), std::nullopt);
  EXPECT_EQ(value("a-1"), std::nullopt);
}

TEST(TensorMapExpression, Operations) {
  EXPECT_EQ(value("7 -3 +"), 4);
  EXPECT_EQ(value("7 3 -"), 4);
  EXPECT_EQ(value("2 3 4 * +"), 14);
  EXPECT_EQ(value("7 -2 /"), -3);
  EXPECT_EQ(value("7 0 /"), std::nullopt);
  EXPECT_EQ(value("-9223372036854775808 -1 /"), INT64_MIN);
  EXPECT_EQ(value("5 3 min 4 max"), 4);
}

TEST(TensorMapExpression, WrapsAsTheKernelDoes) {
  EXPECT_EQ(value("65536 65536 * s32"), 0);
  EXPECT_EQ(value("2147483647 1 + s32"), INT32_MIN);
  EXPECT_EQ(value("9223372036854775807 1 +"), INT64_MIN);
}

TEST(TensorMapExpression, WhatIsNone) {
  for (const char *text :
       {"", "1 2", "+", "1 +", "s32", "x", "1 2 ?", "1 s0", "1 s65", "99999999999999999999"})
    EXPECT_EQ(value(text), std::nullopt) << text;
}

} // namespace
} // namespace blockscope
