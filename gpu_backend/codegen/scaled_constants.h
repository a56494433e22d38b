// Constants of indices that are multiplied or made wide before they are added to an address.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Takes constants out of the indices of addresses: base + (row + 32) * 1024 becomes (base + row *
/// 1024) + 32768. So the rows of a thread are one address and distances, which accesses add for
/// nothing. LLVM's own pass looks through sums only, not through products and shifts.
/// Returns whether there was one.
bool takeOutScaledConstants(llvm::Function &function);

} // namespace blockscope::gpu
