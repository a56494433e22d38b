// Layout conversions that other ops need inside their own lowering.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// The registers of a block of `type` (its layout does not matter) in the layout `to`, given those
/// in the layout `from`. All threads come here. `tupleWords` as in ConversionOptions.
Registers convertLayout(Lowering &lowering, llvm::ArrayRef<llvm::Value *> source,
                        mlir::RankedTensorType type, const LinearLayout &from,
                        const LinearLayout &to, int tupleWords = 1);

} // namespace blockscope::gpu
