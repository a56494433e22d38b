// Dots by wgmma that go on while the next iteration begins.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscope::gpu {

/// Where all dots by wgmma of a loop only add to variables of it, lets them go on into the next
/// iteration: the wait comes after the loop, and in a branch that uses the sums, or goes on with
/// others in their registers. Returns how many dots an iteration begins; 0 where nothing was
/// changed.
int keepDotsRunning(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop);

} // namespace blockscope::gpu
