// The viewer in a window of the desktop.
#pragma once

#include "viz/window/session.h"

#include <string>

namespace blockscope::viz {

/// Shows the session until its window is closed.
/// Errors: false, with the reason in `error`.
bool runWindow(Session &session, int width, int height, std::string &error);

} // namespace blockscope::viz
