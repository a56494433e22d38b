// Values of elements as reports have them.
#include "sanitizer/describe.h"

#include <gtest/gtest.h>

#include <cmath>

namespace blockscope::sanitizer {
namespace {

TEST(ValueText, ReadsBackAsTheSameValue) {
  const float numbers[] = {0.0F, -1.5F, 1e-5F, 0.1F, 3.4e38F};
  for (const float number : numbers)
    EXPECT_EQ(std::stof(valueText(&number, 4, "fp32")), number);
  const double third = 1.0 / 3;
  EXPECT_EQ(std::stod(valueText(&third, 8, "fp64")), third);
}

TEST(ValueText, HasNoDigitTooMany) {
  const float tenth = 0.1F, none = NAN;
  EXPECT_EQ(valueText(&tenth, 4, "fp32"), "0.1");
  EXPECT_EQ(valueText(&none, 4, "fp32"), "nan");
  const uint16_t half = 0x3c00;
  EXPECT_EQ(valueText(&half, 2, "fp16"), "1");
  const int8_t byte = -1;
  EXPECT_EQ(valueText(&byte, 1, "int8"), "-1");
  EXPECT_EQ(valueText(&byte, 1, "uint8"), "255");
}

TEST(ValueText, ShowsTheBytesOfAnAccessOfAnotherSize) {
  const uint32_t word = 0xbeef;
  EXPECT_EQ(valueText(&word, 4, "int8"), "0xbeef");
}

} // namespace
} // namespace blockscope::sanitizer
