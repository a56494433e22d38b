// Loads into registers, iterations before what they give is needed.
//
// Where a copy of iteration i + ahead begins in iteration i, and what it copies is said by another
// load (a page table, an index, a pointer), that load has to be done before: it is made for
// iteration i + ahead + 1 in iteration i, and what it gives is a variable of the loop, used in the
// next iteration. Where the address of that load is loaded too, this one is made for iteration
// i + ahead + 2, and so on.
#pragma once

#include "gpu_backend/pipelining/loop_slice.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>
#include <vector>

namespace blockscope::gpu {

class LoadsAhead {
public:
  /// What a loop needs to compute for `loads`, for the loads of their addresses, and so on; nothing
  /// when that cannot be computed ahead.
  static std::optional<std::vector<LoopSlice>> slicesFor(mlir::scf::ForOp loop,
                                                         llvm::ArrayRef<mlir::Operation *> loads);

  /// The values of `loads` are used `distance` iterations before those of their own.
  /// Errors: false when they cannot be made ahead.
  bool plan(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation *> loads, int distance);

  using When = llvm::function_ref<Iteration(int)>; ///< iterations from the first, or from this one

  /// What is loaded before the loop.
  struct First {
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> loaded; ///< what is asked for, by iteration
    llvm::SmallVector<mlir::Value> variables;                 ///< what those of the loop begin with
  };
  /// Makes the loads of the first iterations, before the loop. `outside` has what values from
  /// outside the loop are there.
  First loadFirst(mlir::OpBuilder &builder, mlir::scf::ForOp loop, const mlir::IRMapping &outside,
                  When when) const;
  /// Maps the loads' results to what they are in one of the first iterations.
  void mapFirst(mlir::IRMapping &mapping, const First &first, int iteration) const;

  /// Takes the loop's variables, from the front of `all`.
  void bind(llvm::ArrayRef<mlir::Value> &all);

  /// Maps the loads' results to what they are `distance` iterations after this one.
  void map(mlir::IRMapping &mapping) const;
  /// In the loop: makes the loads of a later iteration. Gives the variables' next values.
  llvm::SmallVector<mlir::Value> advance(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                                         When when) const;
  /// The ops of the loop's own iteration that may now be without use.
  void collect(llvm::SmallPtrSetImpl<mlir::Operation *> &ops) const;
  /// Adds what the loads need of what is outside the loop.
  void collectOutside(llvm::SmallSetVector<mlir::Value, 8> &values) const;

private:
  /// Loads that are made together; `slice` computes their addresses.
  struct Level {
    llvm::SmallVector<mlir::Operation *> loads;
    LoopSlice slice;
    llvm::SmallVector<mlir::Value> variables; ///< of the slice
    llvm::SmallVector<mlir::Value> loaded;    ///< for the level before
  };

  void make(mlir::OpBuilder &builder, mlir::scf::ForOp loop, const Level &level,
            mlir::ValueRange before, mlir::IRMapping &mapping, const Iteration &iteration,
            llvm::SmallVectorImpl<mlir::Value> &loaded,
            llvm::SmallVectorImpl<mlir::Value> &variables) const;

  int distance_ = 0;
  std::vector<Level> levels_;
};

/// Has a loop without a ring make these loads an iteration early.
///
/// Errors: fails with an error at the loop where they cannot be.
mlir::LogicalResult loadEarly(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation *> loads);

} // namespace blockscope::gpu
