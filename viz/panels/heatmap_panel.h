// The heat map of the chosen tensor, with its controls, axes, colour bar and element inspector.
#pragma once

#include "viz/panels/heatmap_axes.h"

#include <functional>

namespace blockscope::viz {

/// The cells of a plot that can be pointed at.
struct PlotCells {
  Region content;
  std::function<bool(Cell)> isThere;
  std::function<void(Cell)> drawTooltip;
};

/// Wheel, drag and click: zoom, place and chosen cell of the selection.
void handlePlotMouse(Selection &selection, const PlotArea &area, const PlotCells &cells);
void drawCellCursor(const PlotArea &area, Cell cell, ImU32 color);

/// The heat map of the chosen tensor in a rectangle, with axes, border, numbers and colour bar.
void drawHeatPlot(const TraceModel &model, Selection &selection, PlotArea area,
                  const std::function<void(Cell)> &drawTooltip);

void drawHeatmapPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
