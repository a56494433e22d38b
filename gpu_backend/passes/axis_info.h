// What is known of integers and pointers of the block IR along each dimension: how long runs of
// consecutive values are, what their first values can be divided by, and how long values stay
// equal.
//
// From constants, ranges, hints, and the divisibility of arguments. Runs start at multiples of
// their length, counted along the dimension from 0. Everything is a power of two.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace blockscope::tl {
class AssumeOp;
}

namespace blockscope::gpu {

struct AxisInfo {
  struct Dim {
    int64_t contiguity = 1;   ///< values of a run grow by 1 (pointers: by one element)
    int64_t divisibility = 1; ///< of the first value of each run; of pointers in bytes
    int64_t constancy = 1;    ///< values of a run are equal
    bool operator==(const Dim &other) const = default;
  };
  llvm::SmallVector<Dim, 3> dims;  ///< one for a scalar
  std::optional<int64_t> constant; ///< the one value that all elements have
  /// False where values are made of ranges, program numbers, arguments, constants and what
  /// tl.assume says is not negative, without differences. Arguments are held to it at the launch
  /// (`requireNotNegative`); sums and products that wrap are not thought of. What else a kernel
  /// divides by in every run counts as positive: it is a size. Signed quotients and remainders of
  /// what may be negative, which are rounded to zero, form no runs.
  bool mayBeNegative = true;

  bool operator==(const AxisInfo &other) const = default;
};

/// The facts of every value of a function, from one walk; loops are walked until nothing changes.
class AxisAnalysis {
public:
  explicit AxisAnalysis(mlir::func::FuncOp function);

  /// What is known of `value`; nothing (all ones) for other types and unknown values.
  const AxisInfo &at(mlir::Value value) const;

  /// How many elements along `dim` one instruction can load or store, not counting the layout:
  /// consecutive, aligned, at most 16 bytes, and under one mask (which may be null).
  int64_t vectorWidth(mlir::Value pointer, mlir::Value mask, int dim) const;
  /// Dimensions from the fastest (longest runs of pointers) to the slowest.
  llvm::SmallVector<int, 3> orderOf(mlir::Value pointer) const;
  /// Records at the function that what is known relies on integer arguments not to be negative.
  void requireNotNegative() const;

private:
  void findDividedArguments();
  void findSizes(mlir::Block &block);
  void visitBlock(mlir::Block &block);
  void visitLoop(mlir::Operation *loop);
  void visit(mlir::Operation *op);
  AxisInfo transfer(mlir::Operation *op) const;
  bool mayBeNegative(mlir::Operation *op, std::optional<int64_t> constant) const;
  void readAssumption(tl::AssumeOp op);
  bool meetInto(mlir::Value value, AxisInfo info);

  mlir::func::FuncOp function_;
  /// Integer arguments of which dividends and divisors are made: the launch checks that they are
  /// not negative.
  llvm::SetVector<unsigned> notNegative_;
  llvm::DenseSet<mlir::Value> sizes_; ///< that the kernel divides by
  llvm::DenseMap<mlir::Value, AxisInfo> infos_;
};

} // namespace blockscope::gpu
