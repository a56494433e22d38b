// Elements of a block that are the same, because they are loaded from one address: eight 4-bit
// weights of an int32, the scale of a group.
//
// A thread holds all elements of a run, as far as each thread has work then, and loads one of them.
// A buffer in shared memory has one place for all of them.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/axis_info.h"

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

/// Along each dimension, how many neighbouring elements a load brings from one address, under one
/// mask (a power of two; runs begin at multiples of it).
llvm::SmallVector<int64_t, 3> equalRuns(tl::LoadOp load, const AxisAnalysis &axes);

/// What accesses to blocks of one shape that share a layout have in common: the longest runs of
/// their loads.
llvm::SmallVector<int64_t, 3> commonRuns(llvm::ArrayRef<mlir::Operation *> accesses,
                                         const AxisAnalysis &axes);

/// The layout of a load whose elements are equal in runs: that of the blocks of different elements,
/// with the runs in registers. Runs are cut where threads would have copies of each other's
/// elements. `rows` and `least` as for blockedForAccess, where there are no runs.
LinearLayout blockedForRuns(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                            int64_t vector, int64_t warpCount, llvm::ArrayRef<int64_t> runs,
                            int64_t rows = 1, int64_t least = 1);

/// The bits of an element's number that make no difference to what `op` compares or loads, by its
/// attribute `tlg.equal_runs`.
ElementBits equalBits(mlir::Operation *op, const ShapeBits &shape);

/// The layout of a buffer for a block of `shape` whose bits `equal` make no difference: that of
/// `different`, a buffer for the block without these bits.
SharedLayout sharedForRuns(const SharedLayout &different, const ShapeBits &shape,
                           ElementBits equal);

/// The shape without the bits `equal`.
llvm::SmallVector<int64_t, 3> shapeWithout(const ShapeBits &shape, ElementBits equal);

} // namespace blockscope::gpu
