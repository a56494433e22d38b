// Iterations after one of a loop, and more variables for loops.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscope::gpu {

/// What a loop counts from and to.
struct LoopBounds {
  mlir::Value lower, upper, step;

  explicit LoopBounds(mlir::scf::ForOp loop, const mlir::IRMapping &now = {});
};

/// Whether there is an iteration so many after the one that begins at `at`, which exists.
mlir::Value hasIteration(mlir::OpBuilder &builder, mlir::Location location,
                         const LoopBounds &bounds, mlir::Value at, int iterations);
/// What the loop's counter is in that iteration.
mlir::Value iterationAfter(mlir::OpBuilder &builder, mlir::Location location,
                           const LoopBounds &bounds, mlir::Value at, int iterations);

/// Replaces the loop by one with more variables, which it yields as they are.
mlir::scf::ForOp withVariables(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                               mlir::ValueRange initial);

} // namespace blockscope::gpu
