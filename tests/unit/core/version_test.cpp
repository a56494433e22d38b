// The version string.
#include "core/version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

TEST(VersionTest, HasThreeParts) {
  const std::string version = blockscope::versionString();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
}
