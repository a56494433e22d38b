// Files that reproduce a failure of the compiler with blk-opt.
#pragma once

#include "gpu_backend/gpu_options.h"

#include "llvm/ADT/StringRef.h"

namespace blockscope::gpu {

/// Whether the text of an error says that the mistake is ours.
bool isOurMistake(llvm::StringRef error);

/// Writes `ir`, to be run through `pipeline` ("builtin.module(...)"), to a new file in the folder
/// of dumps, or else in that of temporary files. Returns a sentence that names it for the end of an
/// error.
std::string writeReproducer(llvm::StringRef ir, llvm::StringRef pipeline, llvm::StringRef kernel,
                            llvm::StringRef error, const GpuOptions &options);

} // namespace blockscope::gpu
