// Loads and stores whose elements lie side by side.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// At the first of several loads or stores that are one instruction for each element: how many they
/// are. The next ones in the block are the others, in the order of memory; 0 at each of them, whose
/// pointers nobody looks at.
inline constexpr llvm::StringLiteral kJoinedAttribute = "tlg.joined";

/// Finds loads and stores of fields of a row one by one (real and imaginary parts, features, heads'
/// sums), under one mask, and makes them one of 4 to 16 bytes for each row. Apart, each of them
/// touches a piece of many sectors: of stores these leave the cache before the next one comes, and
/// loads bring them several times.
void joinAccesses(mlir::func::FuncOp function);

} // namespace blockscope::gpu
