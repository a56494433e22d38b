// Bitcode of a GPU's functions as LLVM IR that is safe to run on this machine.
#pragma once

#include "interpreter/evaluator.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <vector>

namespace blockscope::interpreter {

/// Has the linked functions of `module` run on the CPU: intrinsics of NVPTX become LLVM's own,
/// calls of libdevice become calls of the interpreter's functions, which `kept` keeps, divisions
/// by zero give something. Inlines and optimises. Returns what they do that the CPU does not run,
/// as words that follow "it"; empty when there is nothing.
std::string adaptToHost(llvm::Module &module, llvm::TargetMachine &machine,
                        std::vector<Evaluator> &kept);

/// The rest of the CPU's optimisations, on a module that is adapted.
void optimizeForHost(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace blockscope::interpreter
