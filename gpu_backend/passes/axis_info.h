// What is known of integers and pointers of the block IR along each dimension: how long runs of
// consecutive values are, what their first values can be divided by, and how long values stay
// equal.
//
// From constants, ranges, hints, and the divisibility of arguments. Runs start at multiples of
// their length, counted along the dimension from 0. Everything is a power of two. Signed quotients
// and remainders of what may be negative, which are rounded to zero, form no runs.
//
// Beside what is known stands a guess (spacing.h), which may be wrong: a wrong order of dimensions
// costs time, never a result.
#pragma once

#include "gpu_backend/passes/index_ranges.h"
#include "gpu_backend/passes/spacing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace blockscope::gpu {

struct AxisInfo {
  struct Dim {
    int64_t contiguity = 1;   ///< values of a run grow by 1 (pointers: by one element)
    int64_t divisibility = 1; ///< of the first value of each run; of pointers in bytes
    int64_t constancy = 1;    ///< values of a run are equal
    int64_t steps = 1;        ///< the values of so many such runs grow by 1 (quotients of a run)
    Spacing spacing = {};     ///< a guess
    bool operator==(const Dim &other) const = default;
  };
  llvm::SmallVector<Dim, 3> dims;  ///< one for a scalar
  std::optional<int64_t> constant; ///< the one value that all elements have
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
  /// Dimensions from the fastest (longest runs of pointers, then most steps, then the one of
  /// `loadedDim`) to the slowest. Of several that are equal in runs and steps the nearest by guess
  /// comes first.
  llvm::SmallVector<int, 3> orderOf(mlir::Value pointer) const;
  /// Along which dimensions the addresses are computed from loaded numbers.
  llvm::SmallVector<bool, 3> loadedDims(mlir::Value pointer) const;
  /// Records at the function what integer arguments have to be at least for what is known.
  void requireOfArguments() const;

private:
  /// The dimension along which the addresses differ by loaded numbers, if neighbours along all
  /// others are in different sectors: along this one they may be in the same.
  std::optional<int> loadedDim(mlir::Value pointer) const;
  /// Of each dimension, by guess. That all is equal along one is no reason for or against it.
  llvm::SmallVector<Nearness, 3> nearnessAlong(mlir::Value pointer) const;
  void visitBlock(mlir::Block &block);
  void visitLoop(mlir::Operation *loop);
  void visit(mlir::Operation *op);
  AxisInfo transfer(mlir::Operation *op);
  bool isRoundedDown(mlir::Operation *op);
  bool meetInto(mlir::Value value, AxisInfo info);

  mlir::func::FuncOp function_;
  IndexRanges ranges_;
  llvm::DenseMap<mlir::Value, AxisInfo> infos_;
};

} // namespace blockscope::gpu
