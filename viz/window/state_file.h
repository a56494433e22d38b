// What is kept of the window from one start to the next. Nothing needs it.
#pragma once

#include "viz/model/selection.h"

#include <optional>
#include <string>

namespace blockscope::viz {

/// Units: pixels of the screen.
struct WindowState {
  int x = -1; ///< -1: where the desktop puts it
  int y = -1;
  int width = 0; ///< 0: the usual size
  int height = 0;
  Look look;
  bool operator==(const WindowState &) const = default;
};

/// The file of this user: in XDG_STATE_HOME, else in ~/.local/state; empty where there is neither.
std::string stateFilePath();

/// Nothing where there is no file. One that is broken is left out, with the reason in `problem`;
/// names that a later version has written are passed over.
std::optional<WindowState> readState(const std::string &path, std::string &problem);

/// Writes the file, and the folders that it lies in; false where that cannot be done.
bool writeState(const std::string &path, const WindowState &state);

} // namespace blockscope::viz
