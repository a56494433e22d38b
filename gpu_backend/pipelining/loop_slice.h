// What a loop computes some values from, iteration by iteration.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace blockscope::gpu {

/// The ops of a loop's body that compute some values from its variables, and those variables. All
/// are free of effects, so they can be made again for another iteration.
struct LoopSlice {
  llvm::SmallSetVector<mlir::Operation *, 16> ops;
  llvm::SmallSetVector<unsigned, 4> variables; ///< by their number among the loop's

  /// Adds what `value` is computed from, in this iteration and, for variables, in those before.
  /// False when that has effects.
  bool add(mlir::scf::ForOp loop, mlir::Value value);
  /// Makes the ops again, in their order, with the loop's variables as in `mapping`.
  void clone(mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::IRMapping &mapping) const;
};

} // namespace blockscope::gpu
