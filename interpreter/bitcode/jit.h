// One function of a library as machine code.
#pragma once

#include "interpreter/evaluator.h"

#include <memory>
#include <string>
#include <vector>

namespace blockscope::interpreter {

/// What is compiled: a function of libraries, with the types of its elements.
struct LibraryFunction {
  std::string symbol;
  std::vector<std::string> libraries; ///< paths
  llvm::SmallVector<Type, 4> operands;
  Type result;
};

/// Machine code, which lives as long as this.
struct LibraryCode {
  ElementwiseFn loop = nullptr; ///< needs no payload
  std::shared_ptr<void> keeper;
};

/// Compiles the function. Errors: null with the text, which names library and function.
std::shared_ptr<const LibraryCode> compileLibraryFunction(const LibraryFunction &function,
                                                          std::string *error);

} // namespace blockscope::interpreter
