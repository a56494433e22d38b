// Drawing of a difference.
#include "viz/panels/difference_plot.h"

#include "viz/panels/heatmap_panel.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace blockscope::viz {
namespace {

constexpr int kMaxCellNumbers = 1500;

/// Where differences have more than four digits, with a unit.
std::string shortText(int64_t difference) {
  const std::string size = countText(static_cast<uint64_t>(std::abs(difference)));
  return (difference > 0 ? "+" : difference < 0 ? "\u2212" : "") + size;
}

/// What the colours mean: that only one run accessed an element, or that it did so more often.
std::vector<LegendEntry> legendOf(const DifferenceTotals &totals, const DifferenceScale &scale) {
  const bool areShared = totals.areShared;
  return {
      {scale.color(0), nullptr, theme::kText, areShared ? "as often" : "in both"},
      {scale.color(scale.largest()), nullptr, theme::kText, areShared ? "more in A" : "only in A"},
      {scale.color(-scale.largest()), nullptr, theme::kText, areShared ? "more in B" : "only in B"},
      {kUntouchedColor, nullptr, theme::kText, "in neither"}};
}

void drawBar(const PlotArea &area, const DifferenceScale &scale, const DifferenceTotals &totals) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const std::vector<LegendEntry> legend = legendOf(totals, scale);
  const float left = area.end().x + 14;
  const float font = ImGui::GetFontSize();
  const float below = 12 + kLegendStep * static_cast<float>(legend.size());
  const float height = std::min(area.size.y - below, 360.0F);
  const float top = area.at.y;
  const auto y = [&](float position) { return top + (1 - position) / 2 * height; };
  if (totals.largest == 0 || height < 2 * font) // the legend says it
    return drawLegend(legend, left, top, area.end().y + 6);
  const auto steps = static_cast<int>(height);
  for (int step = 0; step < steps; ++step) {
    const float position = 1 - 2 * (static_cast<float>(step) + 0.5F) / height;
    draw->AddRectFilled({left, top + static_cast<float>(step)},
                        {left + 14, top + static_cast<float>(step + 1)},
                        scale.color(scale.difference(position)));
  }
  const int ticks = std::clamp(static_cast<int>(height / 2 / 44), 1, 3);
  int64_t previous = 0;
  for (int tick = -ticks; tick <= ticks; ++tick) {
    const int64_t value = scale.difference(static_cast<float>(tick) / static_cast<float>(ticks));
    if ((tick > -ticks && value == previous) || (value == 0 && height < 4 * font))
      continue;
    previous = value;
    const float at = y(scale.position(value));
    draw->AddLine({left + 14, at}, {left + 18, at}, theme::kFaint);
    drawText({left + 21, std::clamp(at - font / 2 - 1, top - 3, top + height - font + 2)},
             theme::kText, shortText(value));
  }
  drawLegend(legend, left, top + height + 12, area.end().y + 6);
}

void drawNumbers(const DifferenceMap &map, const CompareView &view, const PlotArea &area,
                 const DifferenceScale &scale) {
  const double cellWidth = area.size.x / area.region.width();
  const double cellHeight = area.size.y / area.region.height();
  if (cellWidth < textWidth(shortText(-scale.largest())) + 8 ||
      cellHeight < ImGui::GetFontSize() + 4 ||
      area.region.width() * area.region.height() > kMaxCellNumbers)
    return;
  const HeatMode mode = view.shared.mode;
  const auto put = [&](Cell cell, const CountPair &counts) {
    if (!counts.isTouched(mode))
      return;
    const std::string text = shortText(counts.difference(mode));
    const bool isLight = perceivedLightness(scale.color(counts.difference(mode))) > 0.68F;
    drawText({area.x(static_cast<double>(cell.column) + 0.5) - textWidth(text) / 2,
              area.y(static_cast<double>(cell.row) + 0.5) - ImGui::GetFontSize() / 2 - 1},
             isLight ? IM_COL32(10, 14, 20, 255) : IM_COL32(248, 250, 253, 255), text);
  };
  const Plane &plane = map.plane(view.shared.slice);
  const auto last =
      std::min<int64_t>(plane.rows(), static_cast<int64_t>(std::ceil(area.region.bottom)));
  for (int64_t row = std::max<int64_t>(0, static_cast<int64_t>(area.region.top)); row < last; ++row)
    for (int64_t column = std::max<int64_t>(0, static_cast<int64_t>(area.region.left));
         column < plane.columnsOf(row) && static_cast<double>(column) < area.region.right; ++column)
      put({row, column}, map.at(view.shared.slice, {row, column}));
  for (const OutsideDifference &each : map.outside(view.shared.slice))
    put(each.cell, each.counts);
}

bool isThere(const DifferenceMap &map, int64_t slice, Cell cell) {
  const auto &outside = map.outside(slice);
  return map.plane(slice).contains(cell) ||
         std::any_of(outside.begin(), outside.end(),
                     [cell](const OutsideDifference &each) { return each.cell == cell; });
}

} // namespace

std::string differenceText(int64_t difference) {
  return (difference > 0   ? "+"
          : difference < 0 ? "\u2212"
                           : "") +
         fullCountText(static_cast<uint64_t>(std::abs(difference)));
}

void drawDifferencePlot(const DifferenceMap &map, CompareView &view, PlotArea area,
                        const std::function<void(Cell)> &drawTooltip) {
  Selection &shared = view.shared;
  area.region = shared.region;
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const Plane &plane = map.plane(shared.slice);
  if (plane.rows() == 0) {
    draw->AddRectFilled(area.at, area.end(), kPlotBackground);
    ImGui::SetCursorScreenPos(area.at);
    drawEmpty("this tensor has no elements");
    return;
  }
  const int64_t largest = map.totals(shared.mode).largest;
  const DifferenceScale scale(largest, shared.logScale, shared.look.differenceColors);
  const DifferenceRequest request = {
      view.tensor,
      shared.slice,
      shared.mode,
      shared.logScale,
      {shared.program, -1},
      {area.region, theme::pixels(area.size.x), theme::pixels(area.size.y)},
      shared.look.differenceColors};
  drawPicture(view.pictures[2]->difference(map, request), area.at, area.end());
  drawBorder(plane, area);
  drawAxes(plane, area);
  drawNumbers(map, view, area, scale);
  drawBar(area, scale, map.totals(shared.mode));
  if (shared.cell)
    drawCellCursor(area, *shared.cell, IM_COL32(255, 255, 255, 255));
  handlePlotMouse(shared, area,
                  {map.content(shared.slice),
                   [&](Cell cell) { return isThere(map, shared.slice, cell); }, drawTooltip});
}

} // namespace blockscope::viz
