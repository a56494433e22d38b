// Libraries of LLVM bitcode that users bring for tl.extern_elementwise: where a function is, how it
// is called, and what is linked of its library. For the CPU and for GPUs.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <string>

namespace blockscope {

/// Declares in `module` the function `symbol` as the first of `libraries` (paths of bitcode, or of
/// LLVM IR as text) that has it defines it.
///
/// Errors: null with the text: a library cannot be read, none has the function.
llvm::Function *declareExtern(llvm::Module &module, llvm::StringRef symbol,
                              llvm::ArrayRef<std::string> libraries, std::string *error);

/// Calls a function with elements of blocks. Address spaces of pointers are converted, and
/// integers that a function has for narrow floats.
///
/// Errors: null with the text when the function has other types.
llvm::Value *callExtern(llvm::IRBuilderBase &builder, llvm::Function *function,
                        llvm::ArrayRef<llvm::Value *> operands, llvm::Type *result,
                        std::string *error);

/// Links into `module` what it needs of the bitcode at `path`, and hides it. The bitcode may be of
/// another target.
///
/// Errors: false with the text.
bool linkBitcode(llvm::Module &module, llvm::StringRef path, std::string *error);

/// Links what `module` needs of `libraries`, which may need each other.
bool linkBitcodes(llvm::Module &module, llvm::ArrayRef<std::string> libraries, std::string *error);

/// The paths as a text for errors: "'a.bc' and 'b.bc'".
std::string namesOfLibraries(llvm::ArrayRef<std::string> libraries);

} // namespace blockscope
