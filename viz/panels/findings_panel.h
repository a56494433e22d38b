// The findings that were recorded with the launch.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawFindingsPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
