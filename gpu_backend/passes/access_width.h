// How many elements one instruction of an access moves, not counting the layout, and how many
// neighbours a thread gets.
#pragma once

#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/linear_layout.h"
#include "gpu_backend/passes/axis_info.h"

namespace blockscope::gpu {

/// The mask of a load, a store or an atomic, or null.
mlir::Value maskOf(mlir::Operation *access);

/// The most elements along `dim` that one instruction of a load, a store or an atomic can take.
///
/// Source: PTX ISA, "red" and "atom": fp32, fp16 and bf16 are added in vectors of up to 16 bytes
/// (sm_90), fp16 in pairs before; all other atomics take one element.
int64_t accessWidth(mlir::Operation *access, const AxisAnalysis &axes, const GpuTarget &target,
                    int dim);

/// How many neighbours along `dim` a thread gets in the layout of accesses to blocks of one shape:
/// the widest vector of them all that leaves no gaps between what threads store in the deepest
/// loop; where the elements of some lie a known distance apart, the width
/// with which all of them touch the fewest sectors of memory.
int64_t commonWidth(llvm::ArrayRef<mlir::Operation *> accesses, const AxisAnalysis &axes,
                    const GpuTarget &target, int dim);

/// The widest vector along `dim` of one of the accesses.
int64_t widestAccess(llvm::ArrayRef<mlir::Operation *> accesses, const AxisAnalysis &axes,
                     const GpuTarget &target, int dim);

/// How many addresses a thread computes for what it accesses in `layout`: elements that lie a known
/// distance apart share one.
int64_t addressCount(mlir::Value pointer, const LinearLayout &layout, const AxisAnalysis &axes);

} // namespace blockscope::gpu
