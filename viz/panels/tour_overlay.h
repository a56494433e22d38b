// A step of the tour over the panels: what it points at is framed, the rest is dimmed.
#pragma once

#include "viz/model/tour.h"

namespace blockscope::viz {

/// Draws over the viewer, and carries out keys and clicks.
void drawTour(const TraceModel &model, Selection &selection, Tour &tour);

} // namespace blockscope::viz
