// The difference of two heat maps, with axes, numbers and its colour bar.
#pragma once

#include "viz/model/comparison.h"
#include "viz/panels/heatmap_axes.h"

#include <functional>
#include <string>

namespace blockscope::viz {

/// "+3", "0", "-12".
std::string differenceText(int64_t difference);

void drawDifferencePlot(const DifferenceMap &map, CompareView &view, PlotArea area,
                        const std::function<void(Cell)> &drawTooltip);

} // namespace blockscope::viz
