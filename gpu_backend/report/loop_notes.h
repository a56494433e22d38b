// Notes about the loops of a kernel.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/pipelining/plan.h"

namespace blockscope::gpu {

/// Adds a note for each load that a dot uses in the iteration that loads it.
void noteLoops(const PipelinePlan &plan, std::vector<Finding> &notes);

} // namespace blockscope::gpu
