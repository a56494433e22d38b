// Layouts in which a thread has elements that follow each other: what tl.map and inline assembly
// take at a time.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

namespace blockscope::gpu {

/// `layout` where every `pack` elements that follow each other (row-major) are as many registers
/// that do, else another layout of `elements` elements in which they are.
LinearLayout layoutOfPacks(const LinearLayout &layout, int64_t elements, int64_t pack,
                           int numWarps);

} // namespace blockscope::gpu
