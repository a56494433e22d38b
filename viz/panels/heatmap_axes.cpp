// Axes, border and colour bar.
#include "viz/panels/heatmap_axes.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

/// The smallest even step of at least `least` cells: powers of two where the extent is a multiple
/// of 16, as tiles are, else 1, 2, 5, 10...
int64_t tickStep(double least, int64_t extent) {
  if (extent % 16 == 0) {
    int64_t step = 1;
    while (static_cast<double>(step) < least)
      step *= 2;
    return step;
  }
  for (int64_t decade = 1;; decade *= 10)
    for (const int64_t factor : {1, 2, 5})
      if (static_cast<double>(decade * factor) >= least)
        return decade * factor;
}

std::string columnLabel(const Plane &plane, int64_t column) {
  return (plane.isWrapped() && plane.rows() > 1 ? "+" : "") + std::to_string(column);
}

void drawColumnNumbers(const Plane &plane, const PlotArea &area) {
  const double pixels = area.size.x / area.region.width();
  const float widest = textWidth(columnLabel(plane, std::max<int64_t>(0, plane.columns() - 1)));
  const int64_t step = tickStep((widest + 16) / pixels, plane.columns());
  const auto first = static_cast<int64_t>(std::max(0.0, std::floor(area.region.left)));
  ImDrawList *draw = ImGui::GetWindowDrawList();
  for (int64_t column = (first + step - 1) / step * step;
       column < plane.columns() && static_cast<double>(column) < area.region.right;
       column += step) {
    const float middle = area.x(static_cast<double>(column) + 0.5);
    const std::string label = columnLabel(plane, column);
    const float width = textWidth(label);
    if (middle < area.at.x || middle - width / 2 < area.at.x - 6 ||
        middle + width / 2 > area.end().x + 4)
      continue;
    drawText({middle - width / 2, area.at.y - 22}, theme::kFaint, label);
    draw->AddLine({middle, area.at.y - 5}, {middle, area.at.y - 1}, theme::kFaint);
  }
}

void drawRowNumbers(const Plane &plane, const PlotArea &area) {
  const double pixels = area.size.y / area.region.height();
  const int64_t step = tickStep((ImGui::GetFontSize() + 5) / pixels, plane.rows());
  const auto first = static_cast<int64_t>(std::max(0.0, std::floor(area.region.top)));
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const float half = ImGui::GetFontSize() / 2;
  for (int64_t row = (first + step - 1) / step * step;
       row < plane.rows() && static_cast<double>(row) < area.region.bottom; row += step) {
    const float middle = area.y(static_cast<double>(row) + 0.5);
    if (middle < area.at.y + half - 6 || middle > area.end().y - half + 4)
      continue;
    drawTextRight(area.at.x - 9, middle - half - 1, theme::kFaint, plane.rowLabel(row));
    draw->AddLine({area.at.x - 5, middle}, {area.at.x - 1, middle}, theme::kFaint);
  }
}

} // namespace

Cell PlotArea::cellAt(ImVec2 point) const {
  return {
      static_cast<int64_t>(std::floor(region.top + (point.y - at.y) / size.y * region.height())),
      static_cast<int64_t>(std::floor(region.left + (point.x - at.x) / size.x * region.width()))};
}

float rowLabelWidth(const Plane &plane) {
  return textWidth(plane.rowLabel(std::max<int64_t>(0, plane.rows() - 1))) + 12;
}

void drawAxes(const Plane &plane, const PlotArea &area) {
  drawColumnNumbers(plane, area);
  drawRowNumbers(plane, area);
}

void drawBorder(const Plane &plane, const PlotArea &area) {
  if (plane.rows() == 0)
    return;
  // The first and one past the last pixel of the picture's cells.
  const bool isFine = area.region.width() <= area.size.x;
  const auto begin = [isFine](float at) { return isFine ? std::ceil(at - 0.5F) : std::floor(at); };
  const auto end = [isFine](float at) { return isFine ? std::ceil(at - 0.5F) : std::ceil(at); };
  const int64_t last = plane.columnsOf(plane.rows() - 1);
  const auto rows = static_cast<double>(plane.rows());
  const float left = begin(area.x(0));
  const float top = begin(area.y(0));
  const float right = end(area.x(static_cast<double>(plane.columns())));
  const float bottom = end(area.y(rows));
  // The last row of a wrapped tensor may not be full.
  const bool isStepped = last < plane.columns();
  const float stepX = isStepped ? end(area.x(static_cast<double>(last))) : right;
  const float stepY = isStepped ? end(area.y(rows - 1)) : bottom;
  constexpr float kThick = 2;
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->PushClipRect(area.at, area.end(), true);
  const auto line = [draw](float x0, float y0, float x1, float y1) {
    draw->AddRectFilled({x0, y0}, {x1, y1}, IM_COL32(235, 239, 246, 255));
  };
  line(left - kThick, top - kThick, right + kThick, top);
  line(left - kThick, top, left, bottom + kThick);
  line(right, top, right + kThick, stepY + kThick);
  line(left, bottom, stepX + (isStepped ? kThick : 0), bottom + kThick);
  if (isStepped) {
    line(stepX, stepY, right, stepY + kThick);
    line(stepX, stepY + kThick, stepX + kThick, bottom);
  }
  draw->PopClipRect();
}

void drawLegend(const std::vector<LegendEntry> &entries, float left, float top, float bottom) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const auto count = static_cast<float>(entries.size());
  const float step = std::clamp((bottom - top) / std::max(1.0F, count), 18.0F, kLegendStep);
  const auto most = static_cast<size_t>(std::max(1.0F, (bottom - top + 4) / step));
  for (size_t number = 0; number < std::min(most, entries.size()); ++number) {
    const float y = top + step * static_cast<float>(number);
    if (number + 1 == most && most < entries.size()) {
      drawText({left, y - 2}, theme::kFaint,
               "and " + std::to_string(entries.size() - number) + " more");
      return;
    }
    const LegendEntry &entry = entries[number];
    if (entry.picture != nullptr)
      draw->AddImage(entry.picture, {left - 1, y - 1}, {left + 15, y + 15});
    else
      draw->AddRectFilled({left, y}, {left + 14, y + 14}, entry.color);
    drawText({left + 21, y - 2}, entry.textColor, entry.name);
  }
}

void drawColorBar(const PlotArea &area, const HeatScale &scale, ImTextureID colors, bool hasOutside,
                  const std::vector<LegendLine> &legend) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  std::vector<LegendEntry> entries;
  if (hasOutside)
    entries.push_back({kOutsideColor, nullptr, theme::kError, "outside"});
  for (const LegendLine &line : legend)
    entries.push_back({0, line.picture, theme::kText, std::string(line.name)});
  entries.push_back({kUntouchedColor, nullptr, theme::kText, "none"});
  const float left = area.end().x + 14;
  const float below = 12 + kLegendStep * static_cast<float>(entries.size());
  const float height = std::max(30.0F, std::min(area.size.y - below, 360.0F));
  const ImVec2 top = {left, area.at.y};
  const ImVec2 bottom = {left + 14, area.at.y + height};
  const float font = ImGui::GetFontSize();
  if (!scale.isFlat()) {
    draw->AddImage(colors, top, bottom);
    const int ticks = std::clamp(static_cast<int>(height / 44), 1, 6);
    double previous = -1;
    for (int tick = 0; tick <= ticks; ++tick) {
      const double count = std::round(scale.count(static_cast<float>(tick) / ticks));
      const float y = bottom.y - scale.position(count) * height;
      if (count == previous)
        continue;
      previous = count;
      draw->AddLine({left + 14, y}, {left + 18, y}, theme::kFaint);
      drawText({left + 21, std::clamp(y - font / 2 - 1, top.y - 3, bottom.y - font + 2)},
               theme::kText, countText(static_cast<uint64_t>(count)));
    }
  } else {
    draw->AddRectFilled(top, {left + 14, top.y + 14}, scale.color(scale.maximum()));
    drawText({left + 21, top.y - 2}, theme::kText, countText(scale.maximum()));
  }
  drawLegend(entries, left, (scale.isFlat() ? top.y + 14 : bottom.y) + 12, area.end().y + 6);
}

} // namespace blockscope::viz
