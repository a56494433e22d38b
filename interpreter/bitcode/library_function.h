// tl.extern_elementwise of users' bitcode on the CPU: compiled for this machine by LLVM's JIT.
#pragma once

#include "interpreter/evaluator.h"

namespace blockscope::interpreter {

/// Returns the evaluator for a function of the op's `libraries`. Their code runs as it is, so only
/// functions that compute are taken: no memory but their own, no threads, no input or output.
///
/// Errors: the library, the function and what it does that the CPU does not run.
EvaluatorOrError chooseLibraryFunction(const OpSignature &signature);

} // namespace blockscope::interpreter
