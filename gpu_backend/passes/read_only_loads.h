// Loads of what the kernel never stores to, which may come before stores.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// The unit attribute of a load of memory that the kernel does not write.
inline constexpr llvm::StringLiteral kReadOnlyAttribute = "tlg.read_only";

/// Marks loads of loops that store, where nothing that the kernel stores to is loaded by them
/// (tlg.read_only): ptxas may then begin those of several iterations before it stores the results
/// of the first, which may go anywhere for all that it knows. And begins loads that stand between
/// stores of one block, as of fields of a row one after the other, several at a time. Launches
/// check what this relies on (disjoint_arguments.h).
void markReadOnlyLoads(mlir::func::FuncOp function);

} // namespace blockscope::gpu
