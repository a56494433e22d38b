// The whole viewer in one frame: header, the five panels, status line, help.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

/// Draws a frame into the current ImGui context, and carries out the keys that were pressed.
void drawViewer(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
