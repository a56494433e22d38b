// What is known of the chosen finding: its places, values and elements.
#pragma once

#include "viz/model/selection.h"

#include <imgui.h>

#include <string>

namespace blockscope::viz {

/// Draws from the cursor on, `indent` pixels from the left, and leaves the cursor below.
void drawFindingDetails(const TraceModel &model, Selection &selection, float indent);

/// "store   program (1, 0, 0)   lane 0 of [32]".
std::string placeFacts(const TraceModel &model, const TracePlace &place);

/// Side A, side B, or any other place.
ImU32 placeColor(const TraceFinding &finding, const TracePlace &place);

} // namespace blockscope::viz
