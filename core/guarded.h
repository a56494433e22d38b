// Fatal errors of LLVM as errors of one kernel.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace blockscope {

/// Runs `body`, which uses LLVM, so that a fatal error of LLVM does not end the process.
///
/// LLVM's code is not made to be left in the middle: it may be called no more in that state, and
/// its functions cannot be unwound. So `body` runs on a thread of its own; after a fatal error the
/// thread sleeps for the rest of the process, and what `body` has made stays in memory. It is the
/// caller's no longer.
///
/// Errors: false with LLVM's words in `error`.
bool runGuarded(llvm::function_ref<void()> body, std::string &error);

} // namespace blockscope
