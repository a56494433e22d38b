// Intrinsics of LLVM's NVPTX back end by those that every target has.
#pragma once

#include "llvm/IR/Module.h"

namespace blockscope::interpreter {

/// Replaces in `module` the intrinsics llvm.nvvm.* that only compute. Those that flush denormal
/// numbers keep them, approximations are exact. All others stay.
void replaceNvvmIntrinsics(llvm::Module &module);

} // namespace blockscope::interpreter
