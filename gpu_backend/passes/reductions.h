// What is known of a reduction whose operands have layouts.
#pragma once

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

/// Whether elements may be combined in any order.
bool isInAnyOrder(tl::ReduceOp reduce);

/// Whether threads exchange what they reduce, for every element that is left: what a thread reduces
/// by itself is better done as it comes.
bool isAmongThreads(tl::ReduceOp reduce);

} // namespace blockscope::gpu
