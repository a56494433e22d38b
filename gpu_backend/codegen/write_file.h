// Writes a text to a file. An error that a raw_fd_ostream still has when it ends stops the process.
#pragma once

#include "llvm/Support/raw_ostream.h"

namespace blockscope::gpu {

/// Replaces the file's contents.
inline std::error_code writeFile(llvm::StringRef path, llvm::StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return code;
  stream << text;
  stream.close();
  code = stream.error();
  stream.clear_error();
  return code;
}

} // namespace blockscope::gpu
