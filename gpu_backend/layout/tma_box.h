// Blocks in shared memory as TMA fills them: box by box.
#pragma once

#include "gpu_backend/layout/shared_layout.h"

#include <optional>

namespace blockscope::gpu {

/// How TMA copies a block: boxes of one size, each to a place of its own. A box is row-major with
/// `contiguousDim` innermost, then the other dimensions from the last to the first; the swizzle is
/// that of swizzledShared.
struct TmaBoxes {
  struct Box {
    uint32_t offsetBytes;
    llvm::SmallVector<int64_t, 4> first; ///< the first element, per dimension of the block
  };
  int swizzleBytes = 0;
  llvm::SmallVector<int64_t, 4> shape; ///< of a box, per dimension of the block
  llvm::SmallVector<Box, 8> boxes;
};

/// The boxes of a block that lies in shared memory as `layout`, at least so many; nothing where TMA
/// cannot write it.
///
/// Units: `leastBoxes` is a power of two.
std::optional<TmaBoxes> tmaBoxes(llvm::ArrayRef<int64_t> shape, int contiguousDim,
                                 const SharedLayout &layout, int leastBoxes = 1);

/// The dimensions of a block in the order of a box: the contiguous one first.
llvm::SmallVector<int, 4> boxOrder(int rank, int contiguousDim);

} // namespace blockscope::gpu
