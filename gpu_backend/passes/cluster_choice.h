// How the CTAs of a cluster share each block of a kernel: along one dimension, or each has it all.
//
// A program of `num_ctas` CTAs is one kernel that all of them run, on parts of its blocks. Dots say
// first how their result is split; from there it spreads along the ops, as layouts do, since what
// is split alike needs no exchange. Blocks that are cheap to make (ranges, what all elements have
// in common) are made in whatever part is asked for.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>

namespace blockscope::gpu {

/// The dimension along which CTAs share a block, each with as many elements of it, or `kWhole`.
using Split = int;
inline constexpr Split kWhole = -1;

/// How an op's operand has to be split where the op itself is: for reductions as their operands,
/// for all else with blocks as results as these, for stores as their pointers.
Split operandSplit(mlir::Operation *op, unsigned operand, Split split);
/// How its results are split then.
Split resultSplit(mlir::Operation *op, Split split);

class ClusterChoice {
public:
  ClusterChoice(mlir::func::FuncOp function, int numCtas);

  /// Why the kernel has to run as one CTA, as the rest of a sentence; empty: it need not.
  const std::string &obstacle() const { return obstacle_; }
  /// The ops that are the reason, the first one before all; empty: none is.
  llvm::ArrayRef<mlir::Operation *> obstacleOps() const { return obstacleOps_; }

  /// Whether a block is made anew in each part that is asked for.
  bool isCheap(mlir::Value value) const { return cheap_.lookup(value); }
  /// How a block that is not cheap is split.
  Split of(mlir::Value value) const;
  /// How an op is split: see operandSplit.
  Split ofOp(mlir::Operation *op) const;

private:
  bool findObstacle(mlir::func::FuncOp function);
  bool findConflict(mlir::func::FuncOp function);
  static bool areOfOneCta(mlir::Operation *write, mlir::Operation *other);
  bool findRepeatedUpdate(mlir::func::FuncOp function);
  bool computeCheap(mlir::Value value) const;
  bool isOpen(mlir::Value value) const;
  bool give(mlir::Value value, Split split);
  /// The first dimension that CTAs can share, but for one.
  Split candidate(mlir::Type type, int butFor = kWhole) const;
  bool canShare(mlir::Type type, Split split) const;
  Split splitOfDot(mlir::Operation *dot) const;
  /// What an op that cannot be split along every dimension makes of `split`.
  Split allowed(mlir::Operation *op, Split split) const;
  bool spreadForward(mlir::Operation *op, bool whole);
  bool spreadBackward(mlir::Operation *op);
  bool giveFirst(mlir::func::FuncOp function);

  int numCtas_;
  std::string obstacle_;
  llvm::SmallVector<mlir::Operation *, 2> obstacleOps_;
  llvm::DenseMap<mlir::Value, bool> cheap_;
  llvm::DenseMap<mlir::Value, Split> splits_;
};

} // namespace blockscope::gpu
