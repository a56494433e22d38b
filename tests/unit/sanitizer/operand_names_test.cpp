// Operands as the user's line has them.
#include "sanitizer/integers/operand_names.h"

#include <gtest/gtest.h>

namespace blockscope::sanitizer {
namespace {

using Pair = std::pair<std::string, std::string>;

TEST(OperandNamesTest, TheOnlyOperatorOfItsKind) {
  EXPECT_EQ(splitAt("row * stride", "*"), Pair("row", "stride"));
  EXPECT_EQ(splitAt("row * stride + i, mask=i < n)", "*"), Pair("row", "stride"));
  EXPECT_EQ(splitAt("row * stride + i)", "+"), Pair("row * stride", "i"));
  EXPECT_EQ(splitAt("rows[:, None] * s.to(tl.int64) + (a + b) * 2", "*"),
            Pair("rows[:, None]", "s.to(tl.int64)"));
  EXPECT_EQ(splitAt("x // n  # groups", "//"), Pair("x", "n"));
  EXPECT_EQ(splitAt("x * y if wide else 0", "*"), Pair("x", "y"));
  EXPECT_EQ(splitAt("-x * y", "*"), Pair("-x", "y"));
  EXPECT_EQ(splitAt("x * -y", "*"), Pair("x", "-y"));
  EXPECT_EQ(splitAt("1 << by", "<<"), Pair("1", "by"));
}

TEST(OperandNamesTest, NothingWhereItIsNotClear) {
  EXPECT_EQ(splitAt("a * b * c", "*"), std::nullopt);
  EXPECT_EQ(splitAt("a + b + c", "+"), std::nullopt);
  EXPECT_EQ(splitAt("a + b * c", "*"), std::nullopt); // it does not begin at a
  EXPECT_EQ(splitAt("tl.sum(x * y)", "*"), std::nullopt);
  EXPECT_EQ(splitAt("x ** 2", "*"), std::nullopt);
  EXPECT_EQ(splitAt("", "*"), std::nullopt);
}

} // namespace
} // namespace blockscope::sanitizer
