// Asks a trace model everything that the viewer asks.
#pragma once

#include "viz/model/trace_model.h"

namespace blockscope::fuzz {

/// Limits under which one input takes milliseconds.
TraceLimits smallLimits();

/// Heat maps, pictures, stories, tables and commands of a model; the answers are thrown away.
void explore(const viz::TraceModel &model);

} // namespace blockscope::fuzz
