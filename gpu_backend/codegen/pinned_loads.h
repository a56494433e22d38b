// Loads that ptxas may not put off to where they are used.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// A kernel's PTX with a branch, never taken, behind loads from global memory that follow each
/// other, to code that uses what they load. Short of registers, ptxas begins each of such loads
/// where its value is used, so that a warp waits for one after the other; it moves none across a
/// branch. The PTX itself where no two loads follow each other.
///
/// Groups end where one of their values is used, at stores, barriers, labels and branches. `groups`
/// gets the number of those of two loads or more.
std::string withPinnedLoads(llvm::StringRef ptx, int *groups = nullptr);

} // namespace blockscope::gpu
