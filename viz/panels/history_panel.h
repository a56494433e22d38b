// The history panel: every access to the chosen element, in the order of the recording.
#pragma once

#include "viz/model/selection.h"

namespace blockscope::viz {

void drawHistoryPanel(const TraceModel &model, Selection &selection);

} // namespace blockscope::viz
