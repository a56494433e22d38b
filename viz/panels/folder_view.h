// The list of the traces of a folder.
#pragma once

#include "viz/model/compare_commands.h"

namespace blockscope::viz {

/// Draws a frame, and carries out the keys that were pressed.
void drawFolder(const TraceFolder &folder, FolderView &view);

} // namespace blockscope::viz
