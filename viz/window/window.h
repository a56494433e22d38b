// The viewer in a window of the desktop.
#pragma once

#include "viz/window/session.h"
#include "viz/window/state_file.h"

#include <string>

namespace blockscope::viz {

/// Shows the session until its window is closed. `state` says where and how large it is, and what
/// has become of that in the end.
/// Errors: false, with the reason in `error`.
bool runWindow(Session &session, WindowState &state, std::string &error);

} // namespace blockscope::viz
