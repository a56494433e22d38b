// Keys of the window become commands.
#pragma once

#include "viz/model/commands.h"

namespace blockscope::viz {

/// Applies every key that was pressed since the last frame.
void handleKeys(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
