// The grid of programs as a map, and a slider: choosing a program lights its footprint.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawProgramsPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
