// The lines above and below the panels.
#pragma once

#include "viz/model/selection.h"

#include <string>

namespace blockscope::viz {

/// Kernel, grid, parameters and options; the file; buttons.
void drawHeader(const TraceModel &model, Selection &selection, float height);

/// The buttons at the right end of a header; returns the width that they take.
float drawButtons(Selection &selection, float height);

/// What the last command did, else what is chosen, and `hints` where there is room.
void drawStatusLine(const Selection &selection, const std::string &choice, const std::string &hints,
                    float top, float height);

/// What is chosen, what the last command did, and the keys one needs most.
void drawStatus(const TraceModel &model, Selection &selection, float top, float height);

} // namespace blockscope::viz
