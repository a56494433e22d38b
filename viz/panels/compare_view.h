// Two runs side by side: the chosen tensor in each, their difference, and what does not match.
#pragma once

#include "viz/model/compare_commands.h"

namespace blockscope::viz {

/// Draws a frame, and carries out the keys that were pressed.
void drawComparison(const Comparison &comparison, CompareView &view);

} // namespace blockscope::viz
