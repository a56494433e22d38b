// Laws of the colours: what rises is seen to rise, by every kind of eye.
#include "viz/model/color_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace blockscope::viz {
namespace {

using Matrix = std::array<std::array<float, 3>, 3>;

/// How an eye that lacks one kind of cones sees linear RGB.
/// Source: Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color
///         Vision Deficiency", 2009, severity 1.
constexpr Matrix kProtanopia = {{{0.152286F, 1.052583F, -0.204868F},
                                 {0.114503F, 0.786281F, 0.099216F},
                                 {-0.003882F, -0.048116F, 1.051998F}}};
constexpr Matrix kDeuteranopia = {{{0.367322F, 0.860646F, -0.227968F},
                                   {0.280085F, 0.672501F, 0.047413F},
                                   {-0.011820F, 0.042940F, 0.968881F}}};
constexpr Matrix kUsual = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

float toLinear(float value) {
  return value <= 0.04045F ? value / 12.92F : std::pow((value + 0.055F) / 1.055F, 2.4F);
}

Rgba seenBy(const Matrix &eye, Rgba color) {
  std::array<float, 3> linear{};
  for (unsigned channel = 0; channel < 3; ++channel)
    linear[channel] = toLinear(static_cast<float>(color >> 8 * channel & 255U) / 255);
  std::array<uint32_t, 3> seen{};
  for (size_t row = 0; row < 3; ++row) {
    float value = 0;
    for (size_t column = 0; column < 3; ++column)
      value += eye[row][column] * linear[column];
    value = std::clamp(value, 0.0F, 1.0F);
    value = value <= 0.0031308F ? value * 12.92F : 1.055F * std::pow(value, 1 / 2.4F) - 0.055F;
    seen[row] = static_cast<uint32_t>(std::lround(value * 255));
  }
  return rgba(seen[0], seen[1], seen[2]);
}

class EyeTest : public ::testing::TestWithParam<const Matrix *> {
protected:
  float lightness(Rgba color) const { return perceivedLightness(seenBy(*GetParam(), color)); }
};

constexpr int kSteps = 32;

TEST_P(EyeTest, CountsRiseInLightness) {
  for (int each = 0; each < kCountColors; ++each) {
    const auto colors = static_cast<CountColors>(each);
    float before = lightness(heatColor(0, colors));
    for (int step = 1; step <= kSteps; ++step) {
      const float now = lightness(heatColor(static_cast<float>(step) / kSteps, colors));
      EXPECT_GT(now, before + 0.005F) << colorsName(colors) << " at step " << step;
      before = now;
    }
  }
}

TEST_P(EyeTest, DifferencesGetDarkerToBothSides) {
  for (int each = 0; each < kDifferenceColors; ++each) {
    const auto colors = static_cast<DifferenceColors>(each);
    for (const float sign : {-1.0F, 1.0F}) {
      float before = lightness(differenceColor(0, colors));
      for (int step = 1; step <= kSteps; ++step) {
        const float now =
            lightness(differenceColor(sign * static_cast<float>(step) / kSteps, colors));
        EXPECT_LT(now, before - 0.004F) << colorsName(colors) << " at step " << sign * step;
        before = now;
      }
    }
  }
}

/// The two sides are told apart, and both from no difference and from what is untouched.
TEST_P(EyeTest, TheSidesOfADifferenceAreTwoColors) {
  const auto distance = [](Rgba one, Rgba other) {
    const Rgba left = seenBy(*GetParam(), one);
    const Rgba right = seenBy(*GetParam(), other);
    int sum = 0;
    for (unsigned channel = 0; channel < 3; ++channel)
      sum += std::abs(static_cast<int>(left >> 8 * channel & 255U) -
                      static_cast<int>(right >> 8 * channel & 255U));
    return sum;
  };
  for (int each = 0; each < kDifferenceColors; ++each) {
    const auto colors = static_cast<DifferenceColors>(each);
    for (const float size : {0.3F, 1.0F})
      EXPECT_GT(distance(differenceColor(-size, colors), differenceColor(size, colors)), 60)
          << colorsName(colors);
    for (const float side : {-1.0F, 1.0F}) {
      EXPECT_GT(distance(differenceColor(side, colors), differenceColor(0, colors)), 150);
      EXPECT_GT(distance(differenceColor(side, colors), kUntouchedColor), 60);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Eyes, EyeTest, ::testing::Values(&kUsual, &kProtanopia, &kDeuteranopia));

TEST(ColorsTest, EachHasItsName) {
  for (int each = 0; each < kCountColors; ++each)
    EXPECT_EQ(countColorsNamed(colorsName(static_cast<CountColors>(each))),
              static_cast<CountColors>(each));
  for (int each = 0; each < kDifferenceColors; ++each)
    EXPECT_EQ(differenceColorsNamed(colorsName(static_cast<DifferenceColors>(each))),
              static_cast<DifferenceColors>(each));
  EXPECT_EQ(countColorsNamed("rainbow"), std::nullopt);
}

TEST(ColorMapTest, LightnessRisesEvenly) {
  constexpr int kSteps = 64;
  const float whole = perceivedLightness(heatColor(1)) - perceivedLightness(heatColor(0));
  EXPECT_GT(whole, 0.5F);
  for (int step = 0; step < kSteps; ++step) {
    const float rise = perceivedLightness(heatColor(static_cast<float>(step + 1) / kSteps)) -
                       perceivedLightness(heatColor(static_cast<float>(step) / kSteps));
    EXPECT_GT(rise, 0) << step;
    EXPECT_LT(rise, 2.2F * whole / kSteps) << step;
  }
}

} // namespace
} // namespace blockscope::viz
