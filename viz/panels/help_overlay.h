// The help overlay: every key, from the table of commands.
#pragma once

#include "viz/model/commands.h"

namespace blockscope::viz {

void drawHelpOverlay(Selection &selection, std::span<const HelpLine> lines = helpLines());

} // namespace blockscope::viz
