// The layout of plain code: each thread a small box of elements, the lanes a box of threads, the
// warps a box of lanes, repeated over the shape.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

namespace blockscope::gpu {

/// The blocked layout of `shape`: boxes of `sizePerThread` elements in a thread, `lanesPerDim` of
/// them in a warp, `warpsPerDim` of those in all, each level numbered with `order[0]` fastest.
///
/// Where the shape is larger, the whole is repeated: further registers, `order[0]` fastest. Where
/// it is smaller, the lanes and warps beyond it hold copies, and registers beyond it do not exist.
///
/// Shapes: all arguments have one entry per dimension; all sizes are powers of two.
LinearLayout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizePerThread,
                     llvm::ArrayRef<int64_t> lanesPerDim, llvm::ArrayRef<int64_t> warpsPerDim,
                     llvm::ArrayRef<int> order);

/// The blocked layout for memory that is contiguous along `order[0]`: each thread takes up to
/// `vector` elements along it (fewer when there is not enough work for all threads), lanes then
/// warps fill the dimensions in `order`.
///
/// With `rows` above 1 each thread takes as many along `order[1]`, too, and what remains along
/// `order[0]` is left to registers where warps find rows enough: a thread that has few rows has few
/// addresses to compute. A thread takes no fewer than `least` elements along `order[0]`, though
/// others then have nothing to do, but copies.
///
/// Shapes: the result has 32 lanes and `warpCount` warps, a power of two; so are `vector`, `rows`
/// and `least`, which is at most `vector`.
LinearLayout blockedForAccess(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                              int64_t vector, int64_t warpCount, int64_t rows = 1,
                              int64_t least = 1);

} // namespace blockscope::gpu
