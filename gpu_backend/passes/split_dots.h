// Dots of fp32 with more precision than tf32 as several of tf32, for wgmma.
#pragma once

#include "gpu_backend/gpu_target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace blockscope::gpu {

/// Writes dots with input_precision "tf32x3" as three with "tf32", on targets that have wgmma and
/// for tiles that are large enough for it: of the operands as they are, of which wgmma keeps what
/// tf32 holds, and of the rests. Other dots are split fragment by fragment when they are lowered
/// (lowering/mma_operands.h).
void splitDots(mlir::func::FuncOp function, const GpuTarget &target, int numWarps);

/// What the tensor cores take of an fp32 block in tf32, which ignore the other bits anyway.
mlir::Value cutToTf32(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);

} // namespace blockscope::gpu
