// The table of environment variables, and what C++ reads of the environment.
#include "core/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace blockscope;

namespace {

TEST(SettingsTest, EveryDefaultIsGood) {
  EXPECT_GT(settings().size(), 10U);
  for (const SettingInfo &info : settings()) {
    const auto value = valueOf(info, "");
    ASSERT_TRUE(value) << info.variable;
    EXPECT_EQ(std::holds_alternative<bool>(*value), info.kind == SettingKind::Flag);
    EXPECT_EQ(std::holds_alternative<int64_t>(*value), info.kind == SettingKind::Number);
  }
}

TEST(SettingsTest, ABadValueCountsAsUnset) {
  const char *before = std::getenv("BLOCKSCOPE_THREADS");
  const std::string kept = before ? before : "";
  for (const auto &[text, threads] : {std::pair{"7", 7}, {"many", 0}, {"-1", 0}, {"", 0}}) {
    setenv("BLOCKSCOPE_THREADS", text, 1);
    EXPECT_EQ(numberOf(Setting::Threads), threads) << text;
  }
  setenv("BLOCKSCOPE_THREADS", kept.c_str(), 1);
}

} // namespace
