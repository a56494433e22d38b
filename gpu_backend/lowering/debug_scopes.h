// Source positions of the user's Python as LLVM debug locations.
//
// Only line directives are emitted (DebugDirectivesOnly): full line tables mark the PTX as debug
// code, which ptxas then serialises.
#pragma once

#include "core/source_location.h"
#include "gpu_backend/lowering/lowering.h"

#include "llvm/IR/DIBuilder.h"

#include <map>

namespace blockscope::gpu {

struct Lowering::DebugScopes {
  DebugScopes(llvm::Module &module, llvm::Function &function);

  /// The position of an op, with the calls that inlined it; the kernel's line 0 if it is unknown.
  llvm::DILocation *at(const SourceLocation &location);
  void finish() { builder_.finalize(); }

private:
  llvm::DIFile *file(const std::string &path);
  llvm::DISubprogram *scope(const SourceLocation &location);

  llvm::DIBuilder builder_;
  llvm::Function &function_;
  llvm::DICompileUnit *unit_ = nullptr;
  llvm::DISubprogram *kernel_ = nullptr;
  std::map<std::pair<std::string, std::string>, llvm::DISubprogram *> scopes_;
};

} // namespace blockscope::gpu
