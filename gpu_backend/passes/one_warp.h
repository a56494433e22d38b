// Kernels that need no more than one warp.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// At a function: all warps but the first end where it begins.
inline constexpr llvm::StringLiteral kOneWarpAttribute = "tlg.one_warp";

/// Whether the first warp holds all elements of all blocks, so that the others compute and load
/// what it has, and store nothing: programs with small blocks that are given the usual four. Not
/// where ops may have threads work for others, or count on all of them: such as assembly, and what
/// goes through shared memory.
bool isOfOneWarp(mlir::func::FuncOp function);

} // namespace blockscope::gpu
