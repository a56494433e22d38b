// The help overlay: every key, from the table of commands.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawHelpOverlay(Selection &selection);

} // namespace blockscope::viz
