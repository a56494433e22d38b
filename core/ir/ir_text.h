// Reads the text of IR: the one door for modules that were not made by the front end.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace blockscope {

/// What is wrong with a text before it is parsed, or "". MLIR's parser goes into itself for every
/// bracket, so a text that is nested without end would use up the stack.
std::string problemOfText(llvm::StringRef text);

/// Parses and verifies a module of the dialects that `context` has loaded.
/// Errors: null; the errors go to the handlers of the context.
mlir::OwningOpRef<mlir::ModuleOp> readModule(llvm::StringRef text, mlir::MLIRContext &context);

} // namespace blockscope
