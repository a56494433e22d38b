// The heat map of the chosen tensor, with its controls, axes, colour bar and element inspector.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawHeatmapPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
