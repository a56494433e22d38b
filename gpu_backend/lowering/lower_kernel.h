// A whole kernel from the GPU level to an LLVM module.
#pragma once

#include "gpu_backend/gpu_kernel.h"
#include "gpu_backend/gpu_options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace blockscope::gpu {

/// Lowers `function`, whose blocks all have layouts; sets what `kernel` says of shared memory and
/// debug sites. Null after an error, which went to the diagnostics of the context.
std::unique_ptr<llvm::Module> lowerKernel(mlir::func::FuncOp function, llvm::LLVMContext &context,
                                          const GpuTarget &target, const GpuOptions &options,
                                          GpuKernel &kernel);

} // namespace blockscope::gpu
