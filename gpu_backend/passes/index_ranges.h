// The ranges that integers of the block IR can have, from constants, ranges, program numbers, what
// conditions around an op say, `tl.assume`, and what a launch is asked to check of arguments.
//
// An answer is found anew for each question, from the value back to what it is made of, so that it
// knows the branches and loops around the op that asks. Sums and products of 32 and 64 bits are
// taken not to wrap.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace blockscope::gpu {

class IndexRanges {
public:
  explicit IndexRanges(mlir::func::FuncOp function);

  /// Whether no element of `value` is negative where `at` runs. What arguments have to be at least
  /// for it is demanded, as little as suffices. Where that is not enough, divisors, and what every
  /// run divides by, are taken for sizes, which nothing checks.
  bool isNotNegative(mlir::Value value, mlir::Operation *at);

  /// Numbers of integer arguments, with what all answers rely on them to be at least: 0 or 1.
  const std::map<unsigned, int64_t> &demanded() const { return demanded_; }

private:
  void findSizes();
  bool isProved(mlir::Value value, mlir::Operation *at, bool trustsDivisors,
                const std::map<unsigned, int64_t> &least, llvm::DenseSet<unsigned> &used) const;

  mlir::func::FuncOp function_;
  bool mayDemand_;
  llvm::SmallVector<mlir::Operation *> assumptions_; ///< tl.assume
  llvm::DenseSet<mlir::Value> sizes_;                ///< that the kernel divides by in every run
  std::map<unsigned, int64_t> demanded_;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Operation *>, bool> answers_;
};

} // namespace blockscope::gpu
