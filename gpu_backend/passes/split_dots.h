// Dots of fp32 with more precision than tf32 as several of tf32, for wgmma.
#pragma once

#include "gpu_backend/gpu_target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Writes dots with input_precision "tf32x3" as three with "tf32", on targets that have wgmma and
/// for tiles that are large enough for it: the operands are cut to what tf32 holds and a rest.
/// Other dots are split fragment by fragment when they are lowered (lowering/mma_operands.h).
void splitDots(mlir::func::FuncOp function, const GpuTarget &target, int numWarps);

} // namespace blockscope::gpu
