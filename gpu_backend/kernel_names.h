// Names of files and symbols for kernels of any name.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace blockscope::gpu {

/// Returns `name` where a file can be called so with something before and behind it, else the
/// beginning of it and a hash.
std::string fileStem(llvm::StringRef name);

/// Returns the name of a kernel's function in PTX, which knows ASCII only and has words of its own:
/// mostly `name`.
std::string symbolOf(llvm::StringRef name);

} // namespace blockscope::gpu
