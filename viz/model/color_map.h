// The colours of heat maps.
#pragma once

#include <cstdint>

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

/// Colour of `position` in [0, 1]: dark violet to yellow, of evenly rising lightness.
///
/// Source: nine stops in the manner of viridis, interpolated in Oklab.
Rgba heatColor(float position);

/// Lightness in Oklab, 0 to 1; equal steps look equal.
float perceivedLightness(Rgba color);

/// The colour made darker and greyer, for what is not chosen.
Rgba dimmed(Rgba color);

} // namespace blockscope::viz
