// Ops made once more with their result in another layout, and those that nothing needs then.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace blockscope::gpu {

/// Whether an op makes a block of equal elements, of a scalar or a constant; false for null.
bool isSplat(mlir::Operation *op);

/// The result of a copy of `op`, which has one, in `layout`; its operands are those of `made`.
mlir::Value cloneInLayout(mlir::OpBuilder &builder, mlir::Operation *op, mlir::IRMapping &made,
                          const LinearLayout &layout);

/// Erases what nothing uses, and what only that uses. LLVM does so too, but for exchanges.
void eraseUnused(mlir::func::FuncOp function);

} // namespace blockscope::gpu
