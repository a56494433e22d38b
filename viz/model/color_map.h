// The colours of heat maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace blockscope::viz {

/// Red, green, blue, alpha from the lowest byte up: the order of ImU32 and of RGBA textures.
using Rgba = uint32_t;

constexpr Rgba rgba(uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha = 255) {
  return red | green << 8U | blue << 16U | alpha << 24U;
}

/// Element that was not touched; element outside the tensor; background.
inline constexpr Rgba kUntouchedColor = rgba(43, 48, 58);
inline constexpr Rgba kOutsideColor = rgba(255, 72, 60);
inline constexpr Rgba kPlotBackground = rgba(18, 20, 25);

/// Colours of counts. Each rises evenly in lightness, so that it can be read without colours.
enum class CountColors : uint8_t {
  Viridis, ///< dark violet to yellow
  Cividis, ///< dark blue to yellow: the same to nearly every eye
  Grey,
};
inline constexpr int kCountColors = 3;
/// As the option has it: "viridis".
std::string_view colorsName(CountColors colors);

/// Colours of differences: light where there is none, darker to both sides.
enum class DifferenceColors : uint8_t { BlueOrange, PurpleGreen };
inline constexpr int kDifferenceColors = 2;
std::string_view colorsName(DifferenceColors colors);

/// Nothing when there are none of this name.
std::optional<CountColors> countColorsNamed(std::string_view name);
std::optional<DifferenceColors> differenceColorsNamed(std::string_view name);

/// Colour of `position` in [0, 1].
///
/// Source: stops in the manner of viridis and cividis, interpolated in Oklab.
Rgba heatColor(float position, CountColors colors = CountColors::Viridis);

/// Colour of `position` in [-1, 1]; 0 is nearly white.
Rgba differenceColor(float position, DifferenceColors colors = DifferenceColors::BlueOrange);

/// Lightness in Oklab, 0 to 1; equal steps look equal.
float perceivedLightness(Rgba color);

/// The colour made darker and greyer, for what is not chosen.
Rgba dimmed(Rgba color);

} // namespace blockscope::viz
