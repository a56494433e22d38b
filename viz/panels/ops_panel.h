// The memory ops of the kernel with their counts.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawOpsPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
