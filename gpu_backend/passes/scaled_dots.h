// Dots of scaled operands (tl.dot_scaled) by the block-scaled mma.sync.
//
// The rule book widens both operands to bf16 or fp16, and beside that says what they were
// (tl.scaled). Here it is decided who multiplies: the instructions take e2m1, e4m3 and e5m2 with a
// scale for 32 elements of K, that are powers of two, or, of e2m1 alone, with fp8 scales for 16.
// All else is multiplied as it was widened.
#pragma once

#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/mma_layouts.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Gives the dots that `target` multiplies so their operands and scales as the kernel has them, and
/// takes every tl.scaled away. e2m1 that are not packed along K become bytes first.
void formScaledDots(mlir::func::FuncOp function, const GpuTarget &target);

/// The instruction that multiplies scaled operands.
struct ScaledMma {
  enum class Kind : uint8_t {
    Mxf8f6f4, ///< of bytes; an e2m1 has its in bits 2 to 5
    Mxf4,     ///< of e2m1, two in a byte, scaled by powers of two
    Mxf4nvf4, ///< and by fp8
  };
  Kind kind = Kind::Mxf8f6f4;
  int64_t steps = 1; ///< instructions along K
  /// Of bytes of two e2m1, which become a byte each, and of what is multiplied with those.
  DepthOrder depthA = DepthOrder::Plain, depthB = DepthOrder::Plain;
  MmaScales scalesA, scalesB;
};

/// Which one it is for operands of these types, in registers or shared memory.
ScaledMma scaledMmaOf(mlir::Type a, mlir::Type b, mlir::Type scales);

} // namespace blockscope::gpu
