// The kernel's source with counts and findings beside each line.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawSourcePanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
