// Stores whose elements lie side by side.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// At the first of several stores that are one instruction for each element: how many they are. The
/// next ones in the block are the others, in the order of memory; 0 at each of them.
inline constexpr llvm::StringLiteral kJoinedAttribute = "tlg.joined";

/// Finds stores that write fields of a row one by one (real and imaginary parts, features, heads'
/// sums), under one mask, and makes them one store of 4 to 16 bytes for each row. Apart, each of
/// them fills a piece of many sectors, which leave the cache before the next one comes.
void joinStores(mlir::func::FuncOp function);

} // namespace blockscope::gpu
