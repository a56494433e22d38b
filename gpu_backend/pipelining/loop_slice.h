// What a loop computes some values from, iteration by iteration.
#pragma once

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace blockscope::gpu {

/// One iteration, of those before the loop or of the loop.
struct Iteration {
  mlir::Value counter;
  mlir::Value exists; ///< as i1; null: it does
};

/// The ops of a loop's body that compute some values from its variables and from what it loads, and
/// those variables and loads. The ops can be made again for another iteration, also for one that
/// there is not.
///
/// Of an `if` only that is made again which some of its results need: what else is in it, such as
/// stores, stays in its own iteration.
struct LoopSlice {
  llvm::SmallSetVector<mlir::Operation *, 16> ops;
  llvm::SmallSetVector<unsigned, 4> variables; ///< by their number among the loop's
  llvm::SmallSetVector<mlir::Operation *, 2> loads;
  /// Loads among `ops`, which are made again with them: those inside an `if`, where it has to load,
  /// and in a slice of one iteration all.
  llvm::SmallSetVector<mlir::Operation *, 2> madeLoads;
  llvm::SmallSetVector<mlir::Value, 8> outside; ///< what the ops need of what is around the loop

  /// The slice is of one iteration: what its variables are is not looked at, and `loads` is empty.
  bool isOfOneIteration = false;
  /// An op of the loop's body: what it gives, and what comes before it, is there.
  mlir::Operation *given = nullptr;

  /// Adds what `value` is computed from, in this iteration and, for variables, in those before.
  /// False when that has effects, other than by loading, or is in a loop inside the loop.
  bool add(mlir::scf::ForOp loop, mlir::Value value);
  /// Adds what says where a load reads, and what it gives where its mask is false.
  bool addOperandsOf(mlir::scf::ForOp loop, tl::LoadOp load);
  /// Makes the ops again, in their order, with the loop's variables and the results of the loads as
  /// in `mapping`.
  void clone(mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::IRMapping &mapping,
             const Iteration &iteration) const;

private:
  struct Clones;

  bool isGiven(mlir::scf::ForOp loop, mlir::Operation *op) const;
  bool addIf(mlir::scf::ForOp loop, mlir::OpResult result);
  void cloneBlock(mlir::Block &block, const Clones &to) const;
  void cloneIf(mlir::scf::IfOp op, const Clones &to) const;

  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 4>> results_; ///< of each `if`
};

/// Makes a load with operands as in `mapping`, which loads nothing where `exists` is false (null:
/// it is true).
tl::LoadOp makeLoad(mlir::OpBuilder &builder, tl::LoadOp load, mlir::IRMapping &mapping,
                    mlir::Value exists);

} // namespace blockscope::gpu
