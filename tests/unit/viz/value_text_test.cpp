// Values of a trace as text.
#include "viz/model/value_text.h"

#include <gtest/gtest.h>

namespace blockscope::viz {
namespace {

TEST(ValueTextTest, ValuesReadBackAsTheyAre) {
  EXPECT_EQ(valueText("fp32", 4, 0x3dcccccd), "0.1");
  EXPECT_EQ(valueText("fp64", 8, 0xbff0000000000000), "-1");
  EXPECT_EQ(valueText("fp16", 2, 0x2e66), "0.1");
  EXPECT_EQ(valueText("fp16", 2, 0x7bff), "65504");
  EXPECT_EQ(valueText("fp16", 2, 0xfc00), "-inf");
  EXPECT_EQ(valueText("bf16", 2, 0x3f80), "1");
  EXPECT_EQ(valueText("bf16", 2, 0x7fc0), "nan");
  EXPECT_EQ(valueText("fp8e5", 1, 0x3e), "1.5");
  EXPECT_EQ(valueText("fp8e4nv", 1, 0x7e), "448");
  EXPECT_EQ(valueText("int8", 1, 0xff), "-1");
  EXPECT_EQ(valueText("uint8", 1, 0xff), "255");
  EXPECT_EQ(valueText("int64", 8, UINT64_MAX), "-1");
  EXPECT_EQ(valueText("int1", 1, 1), "true");
  EXPECT_EQ(valueText("fp32", 2, 0x1f), "0x001f"); // another width
  EXPECT_EQ(valueText("unheard", 1, 7), "0x07");
}

} // namespace
} // namespace blockscope::viz
