// Ops made once more with their result in another layout, and those that nothing needs then.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace blockscope::gpu {

/// The value that conversions make others of.
mlir::Value convertedFrom(mlir::Value value);

/// Whether an op makes a block of equal elements, of a scalar or a constant; false for null.
bool isSplat(mlir::Operation *op);

/// The result of a copy of `op`, which has one, in `layout`; its operands are those of `made`.
mlir::Value cloneInLayout(mlir::OpBuilder &builder, mlir::Operation *op, mlir::IRMapping &made,
                          const LinearLayout &layout);

/// `value` in `layout`, made where `value` is, or what is there already. What `isMadeAgain` says is
/// computed again, of operands in the layouts that it asks for then, or, a conversion, left out;
/// anything else is converted.
mlir::Value madeInLayout(mlir::Value value, const LinearLayout &layout,
                         llvm::function_ref<bool(mlir::Operation *)> isMadeAgain);

/// Erases what nothing uses, and what only that uses. LLVM does so too, but for exchanges.
void eraseUnused(mlir::func::FuncOp function);

} // namespace blockscope::gpu
