// Where the waits for wgmma stand in PTX.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// The same PTX with waits for all wgmma in front of arithmetic that comes right before them behind
/// a loop, and, `inLoops`, of little arithmetic elsewhere. ptxas may take that for a part of the
/// stage, find that it reads the sums, and run every wgmma of the loop by itself (C7514). In loops
/// dots run beside what comes before, and with the waits in front ptxas may say so of others.
std::string withWaitsFirst(llvm::StringRef ptx, bool inLoops = false);

} // namespace blockscope::gpu
