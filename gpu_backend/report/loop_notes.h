// Notes about the loops of a kernel.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/pipelining/plan.h"

#include <vector>

namespace blockscope::gpu {

/// Adds a note for each load that a dot uses in the iteration that loads it.
void noteLoops(const PipelinePlan &plan, std::vector<Finding> &notes);

/// A loop that has fewer buffers than stages were asked for.
struct FewerBuffers {
  SourceLocation place;
  int stages = 0, buffers = 0;
  int64_t bytes = 0; ///< of one buffer of each load
};

/// The loops whose rings are short for lack of shared memory.
std::vector<FewerBuffers> fewerBuffers(const PipelinePlan &plan);

/// Adds a note for each of them, once it is known how much shared memory the kernel takes.
void noteFewerBuffers(llvm::ArrayRef<FewerBuffers> loops, GpuKernel &kernel);

} // namespace blockscope::gpu
