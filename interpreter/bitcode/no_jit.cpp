// In builds that have LLVM linked in: no JIT.
#include "core/bitcode.h"
#include "interpreter/bitcode/jit.h"

namespace blockscope::interpreter {

std::shared_ptr<const LibraryCode> compileLibraryFunction(const LibraryFunction &function,
                                                          std::string *error) {
  *error = "'" + function.symbol + "' of " + namesOfLibraries(function.libraries) +
           " cannot run on the CPU: this build has no JIT of LLVM's; a build with LLVM as a shared "
           "library has it, and GPUs run the function";
  return nullptr;
}

} // namespace blockscope::interpreter
