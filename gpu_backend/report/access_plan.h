// Which threads reach which elements of global memory, read off a kernel before it is lowered.
#pragma once

#include "core/memory_plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace blockscope::gpu {

/// The loads, stores and atomics of a kernel whose blocks have layouts, in their order.
std::vector<AccessPlan> planAccesses(mlir::func::FuncOp function, int numWarps);

} // namespace blockscope::gpu
