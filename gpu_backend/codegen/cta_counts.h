// How many CTAs of a kernel run at the same time, and for how many registers are asked.
#pragma once

#include "gpu_backend/gpu_kernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace blockscope::gpu {

/// Asks for so few registers that `ctas` CTAs run on a multiprocessor at the same time. One: ptxas
/// gives some kernels that need many registers very few, and lets them spill, so that more of them
/// run; where one CTA will do, it gives them all.
std::string withCtas(llvm::StringRef ptx, int ctas);

/// Whether a kernel has tensor cores to feed: it wants registers for what comes next, and waits for
/// other things than loads.
bool hasMatrixInstructions(llvm::StringRef ptx);

int ctasAtATime(const GpuKernel &kernel, int registers);

/// The most registers of a thread with which `ctas` CTAs run at the same time.
int registersFor(const GpuKernel &kernel, int ctas);

/// One CTA more than run now, if this share of the registers that ptxas took allows it: what waits
/// for memory hides it behind other CTAs. Of 868 public kernels none took a second one more.
std::optional<int> oneCtaMore(const GpuKernel &kernel, double share);

/// The same, where the kernel's values may well fit.
std::optional<int> oneCtaMoreIfItFits(const GpuKernel &kernel);

/// How many CTAs can run at the same time if a thread has a third more registers than ptxas gave
/// it, or a few: loads that wait for registers begin earlier.
llvm::SmallVector<int, 2> fewerCtas(const GpuKernel &kernel);

/// How many CTAs can run if a thread has some registers more than those with which all warps run,
/// where ptxas gave it all of these: what it has no register for it computes again. Whose values
/// ask for hardly more gets the same code (12 public kernels).
llvm::SmallVector<int, 2> nextToAllWarps(const GpuKernel &kernel);

} // namespace blockscope::gpu
