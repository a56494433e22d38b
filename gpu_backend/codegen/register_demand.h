// How many registers a kernel asks for, before ptxas is asked.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace blockscope::gpu {

/// The most registers of 32 bits that hold a value at the same line of `ptx`, one kernel as LLVM
/// writes it. A value counts from the first line that names its register to the last; what a loop
/// keeps from before it to its next iteration is not seen.
int64_t registerDemand(llvm::StringRef ptx);

} // namespace blockscope::gpu
