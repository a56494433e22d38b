// What is known about one element, as a tooltip and as the strip below the heat map.
#pragma once

#include "viz/model/selection.h"

#include <imgui.h>

namespace blockscope::viz {

/// "read 2 times, written once": how often an element was touched.
std::string countsText(const ElementCounts &counts);

/// Lines of a tooltip: index, offset, counts, programs and lines that touched the element.
void drawElementTooltip(const TraceModel &model, const Selection &selection, Cell cell);

/// The same of the chosen cell, in a box of the screen; a hint when no cell is chosen.
void drawElementStrip(const TraceModel &model, const Selection &selection, ImVec2 at, ImVec2 size);

} // namespace blockscope::viz
