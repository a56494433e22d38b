// The bar below the heat map that chooses the range of time, in the order of the recording.
#pragma once

#include "viz/model/selection.h"

#include <imgui.h>

namespace blockscope::viz {

inline constexpr float kTimelineHeight = 34;

/// Draws the bar, and goes on while the recording is played.
void drawTimeline(const TraceModel &model, Selection &selection, ImVec2 at, float width);

} // namespace blockscope::viz
