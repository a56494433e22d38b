// The layout in which threads move a block in shared memory to where its other dimension lies
// consecutively: they read pieces along one dimension and write pieces along the other.
#pragma once

#include "gpu_backend/layout/shared_layout.h"

#include <optional>

namespace blockscope::gpu {

/// For elements of 1 byte pieces that ldmatrix.trans reads and stmatrix writes, for others vectors
/// of 16 bytes on both sides, by lanes that have the fewest bank conflicts.
///
/// Shapes: two dimensions; `from` lies along one of them, `toDim` is the other one. Nothing where
///         the block is too small for the lanes of a warp. Units: elements of 1, 2 or 4 bytes.
std::optional<LinearLayout> transposingLayout(llvm::ArrayRef<int64_t> shape,
                                              const SharedLayout &from, const SharedLayout &to,
                                              int toDim, int64_t warpCount);

/// The layout in which threads load a block from `from`, compute each element of what they store to
/// `to`, and meet the fewest bank conflicts on both sides; how many neighbours a thread has along
/// either dimension is open.
///
/// Shapes: as above. Nothing where the block has fewer elements than a warp has lanes.
std::optional<LinearLayout> layoutBetween(llvm::ArrayRef<int64_t> shape, const SharedLayout &from,
                                          const SharedLayout &to, int toDim, int64_t warpCount);

} // namespace blockscope::gpu
