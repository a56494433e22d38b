// Loads in front of what uses them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// A kernel's PTX with loads from global memory in front of what only uses such loads, as far as
/// nothing between them acts on memory or waits. At most `words` registers of 32 bits wait for
/// their use at the same time. The PTX itself where no load has to move.
std::string withLoadsFirst(llvm::StringRef ptx, int words);

} // namespace blockscope::gpu
