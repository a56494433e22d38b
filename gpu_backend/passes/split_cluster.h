// Makes a program that several CTAs run together of one that a single CTA runs.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Rewrites a kernel for clusters of `numCtas` CTAs, before it has layouts: each has a part of the
/// blocks (passes/cluster_choice), by its number in the cluster; where another part is needed, or
/// all, CTAs exchange what they have (tlg.cluster_exchange). Marks the function
/// (kClusterAttribute). A kernel that cannot be split stays as it is, with the reason
/// (kNoClusterAttribute).
void splitCluster(mlir::func::FuncOp function, int numCtas);

} // namespace blockscope::gpu
