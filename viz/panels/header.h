// The lines above and below the panels.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

/// Kernel, grid, parameters and options; the file; buttons.
void drawHeader(const TraceModel &model, Selection &selection, float height);

/// What is chosen, what the last command did, and the keys one needs most.
void drawStatus(const TraceModel &model, Selection &selection, float top, float height);

} // namespace blockscope::viz
