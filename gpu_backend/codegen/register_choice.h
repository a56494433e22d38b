// Which registers a kernel is given.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

namespace blockscope::gpu {

/// For a kernel without tensor cores that spills nothing: has it assembled with other numbers of
/// registers, and takes what is better.
void chooseRegisters(GpuKernel &kernel, const GpuOptions &options);

/// For a kernel that spills: has its loads begin together, where it waits for them in rounds. It
/// may spill more for them.
void pinLoads(GpuKernel &kernel, const GpuOptions &options);

/// For a kernel with tensor cores that spills nothing and leaves a scheduler with at most two
/// warps: assembles it with so few registers that one more CTA runs at the same time. Other warps
/// then multiply while one waits or computes something else. The result is taken if it has about as
/// many instructions and spills next to nothing.
void makeRoomForWarps(GpuKernel &kernel, const GpuOptions &options);

} // namespace blockscope::gpu
