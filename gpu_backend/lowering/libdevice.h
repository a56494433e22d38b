// Calls of CUDA's math library, which is linked in after lowering.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// Calls the function `symbol` ("__nv_expf"), which is pure.
llvm::Value *callLibdevice(Lowering &lowering, llvm::StringRef symbol, llvm::Type *result,
                           llvm::ArrayRef<llvm::Value *> operands);

} // namespace blockscope::gpu
