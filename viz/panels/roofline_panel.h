// The roofline panel: the launch as a point below what the GPU can do.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawRooflinePanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
