// From an LLVM module to PTX: optimisation, libdevice, LLVM's NVPTX back end. No MLIR here.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include "llvm/IR/Module.h"

#include <string>

namespace blockscope::gpu {

/// An attribute of functions whose loops have no registers left for addresses.
constexpr llvm::StringLiteral kNeedsRegisters = "blockscope-needs-registers";

/// Sets triple, data layout and attributes of `target`; before anything is lowered that depends on
/// the width of shared pointers.
bool prepareModule(llvm::Module &module, const GpuTarget &target, std::string *error);
/// Links what the module calls of `libraries` (paths of bitcode) and of libdevice, optimises, and
/// returns the PTX.
///
/// Errors: empty, with the text in `error`.
std::string emitPtx(llvm::Module &module, const GpuTarget &target, const GpuOptions &options,
                    llvm::ArrayRef<std::string> libraries, std::vector<StageTime> &times,
                    std::string *error);

} // namespace blockscope::gpu
