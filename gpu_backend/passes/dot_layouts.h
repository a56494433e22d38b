// The layouts of a dot: of its accumulator, and of its operands in registers.
#pragma once

#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/passes/axis_info.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace blockscope::gpu {

enum class DotKind {
  Fma,   ///< each thread multiplies, operands go through shared memory
  Mma,   ///< mma.sync of a warp
  Wgmma, ///< of a warpgroup, the second operand (and mostly the first) in shared memory
};

struct DotLayouts {
  DotKind kind = DotKind::Fma;
  int operandBytes = 0; ///< of an element as it is multiplied
  MmaWarps warps;
  /// Of the operands; nothing where any layout will do.
  std::optional<LinearLayout> a, b;
  DepthOrder depth = DepthOrder::Plain;      ///< in which both operands have K
  bool isTurned = false;                     ///< of mma.sync (mmaLayouts)
  llvm::SmallVector<LinearLayout, 2> scales; ///< of a block-scaled dot
  LinearLayout accumulator;
};

/// The layouts for `dot` on `target`: of the tensor cores where they take its types and shape.
DotLayouts chooseDotLayouts(tl::DotOp dot, const AxisAnalysis &axes, const GpuTarget &target,
                            int numWarps);

/// Makes the op of the GPU level for `dot` with new operands, which have `layouts`.
mlir::Value createDot(mlir::OpBuilder &builder, tl::DotOp dot, const DotLayouts &layouts,
                      mlir::Value a, mlir::Value b, mlir::Value accumulator,
                      mlir::ValueRange scales);

/// Multiplies fp32 operands that were both cast from fp16 or both from bf16 as what they were,
/// where their digits are cut to tf32 or bf16 anyway: the products are the same, and exact.
void narrowDotOperands(mlir::func::FuncOp function);

/// Casts fp8 operands to fp16, exactly, where the target does not multiply them as they are.
void widenDotOperands(mlir::func::FuncOp function, const GpuTarget &target);

/// Makes `sum + dot(a, b)` the one `dot(a, b, sum)` where the tensor cores add in fp32 or int32:
/// the product needs no registers of its own, and the dots of an iteration may go on into the next
/// one. So it does where the product is reshaped before it is added. The dots of fp8, scaled or
/// not, keep their addition: the tensor cores add these with fewer bits. It is made part of the dot
/// only where sums and products would not both fit in registers (see tlg.wgmma). A dot that could
/// begin before the sum is there keeps its addition, too.
void foldSumsIntoDots(mlir::func::FuncOp function, const GpuTarget &target, int numWarps);

} // namespace blockscope::gpu
