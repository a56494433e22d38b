// The passes of the GPU level, in the order in which named_passes.cpp runs them.
#pragma once

#include "gpu_backend/gpu_options.h"
#include "gpu_backend/gpu_target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace blockscope::gpu {

/// Has one load in place of several equal ones of a block of the IR, where no memory may change
/// between them.
void shareLoads(mlir::func::FuncOp function);

/// Loads before a loop what each of its iterations loads from the same address, if nothing in it
/// changes that memory: scalars, operands of dots, small blocks. Stores to other arguments do not,
/// where the launch finds that they do not overlap (passes/disjoint_arguments).
void loadBeforeLoops(mlir::func::FuncOp function);

/// Makes `for` loops of `while` loops that count up to what they do not change, by a step that is
/// known to be positive.
void countLoops(mlir::func::FuncOp function);

/// Makes as many iterations one as `tl.loop_unroll_factor` of a loop says, and one by one what is
/// left of them, in a loop of its own that has no ring.
void unrollLoops(mlir::func::FuncOp function);

/// Gives every block a layout: rewrites the kernel's function with layouts in its tensor types and
/// tlg.convert_layout where two do not fit.
mlir::LogicalResult assignLayouts(mlir::func::FuncOp function, const GpuTarget &target,
                                  const GpuOptions &options);

/// Marks the accesses of rectangles of tensors that TMA can do, on GPUs that have it.
void findTmaAccesses(mlir::func::FuncOp function, const GpuTarget &target);

/// Does the marked stores by TMA, and the marked loads outside of loops that wgmma reads.
void copyByTma(mlir::func::FuncOp function, const GpuTarget &target);

} // namespace blockscope::gpu
