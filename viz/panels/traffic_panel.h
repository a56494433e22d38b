// The panel of what memory ops move on a GPU: sectors of global memory, wavefronts of shared
// memory.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawTrafficPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
