// Row and column numbers, border and colour bar of the heat map.
#pragma once

#include "viz/model/selection.h"

#include <imgui.h>

#include <string_view>
#include <vector>

namespace blockscope::viz {

/// Where a region of a plane is on the screen.
struct PlotArea {
  ImVec2 at;
  ImVec2 size;
  Region region;
  float x(double column) const {
    return at.x + static_cast<float>((column - region.left) / region.width() * size.x);
  }
  float y(double row) const {
    return at.y + static_cast<float>((row - region.top) / region.height() * size.y);
  }
  Cell cellAt(ImVec2 point) const;
  ImVec2 end() const { return {at.x + size.x, at.y + size.y}; }
};

/// Width that the row numbers of a plane need, in pixels.
float rowLabelWidth(const Plane &plane);

void drawAxes(const Plane &plane, const PlotArea &area);

/// The border of the tensor: what is drawn outside of it is outside the tensor.
void drawBorder(const Plane &plane, const PlotArea &area);

inline constexpr float kColorBarWidth = 104;

/// A line of the legend below the colour bar: a picture and its name.
struct LegendLine {
  ImTextureID picture;
  std::string_view name;
};

/// A square of a legend, and what it means.
struct LegendEntry {
  ImU32 color; ///< of the square, where there is no picture
  ImTextureID picture;
  ImU32 textColor;
  std::string name;
};

inline constexpr float kLegendStep = 24;

/// Draws the entries from `top` on, closer together where there is little room; those that have
/// none above `bottom` are counted in the last line.
void drawLegend(const std::vector<LegendEntry> &entries, float left, float top, float bottom);

/// Colour bar with the counts that the colours mean, at the right of `area`; below it `legend`.
void drawColorBar(const PlotArea &area, const HeatScale &scale, ImTextureID colors, bool hasOutside,
                  const std::vector<LegendLine> &legend);

} // namespace blockscope::viz
