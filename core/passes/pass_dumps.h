// Prints the IR after every pass, for people: MLIR_ENABLE_DUMP, as users of Triton know it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace blockscope {

/// Whether `wanted` ("1" for all kernels, or the name of one) asks for the passes of `kernel`.
bool wantsPassDumps(llvm::StringRef wanted, llvm::StringRef kernel);

/// Prints the module of `kernel` to stderr after every pass of `manager`, one dump in one piece,
/// also where several threads compile.
void addPassDumps(mlir::PassManager &manager, llvm::StringRef kernel);

/// Writes `text` to stderr in one piece.
void writeDump(llvm::StringRef text);

} // namespace blockscope
