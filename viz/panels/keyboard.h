// Keys of the window become commands.
#pragma once

#include "viz/model/commands.h"

#include <functional>

namespace blockscope::viz {

/// Calls `act` for every key that was pressed since the last frame.
void handleKeys(const std::function<void(Command)> &act);

/// Applies every key that was pressed since the last frame.
void handleKeys(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
