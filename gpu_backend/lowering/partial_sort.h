// Sorts of which only the first elements are needed: tl.topk is a sort and a gather of these.
#pragma once

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

/// How many of the first elements along its dimension any op takes from a sort, a power of two. The
/// lowering of such a sort leaves these everywhere: the element with coordinate c is that with
/// coordinate c modulo the number.
int64_t neededOfSort(tl::SortOp sort);

} // namespace blockscope::gpu
