// Elements that blocks of the block IR can have, at random: what computes them is evaluated.
#pragma once

#include "gpu_backend/passes/region_numbers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <map>
#include <string>

namespace blockscope::gpu {

/// The values that blocks have at one place, such as the operands of a reduction. What is loaded
/// where a mask is true and all that is not known here may be anything; what is not loaded is what
/// the load says. Loops run a few times, or leave anything. All that the blocks can be by then is
/// given, and maybe more.
class OperandNumbers {
public:
  static constexpr uint64_t kMostIterations = 3;

  /// `any` gives any number of a type. `runsLoops`: what loops count is only looked at while small.
  OperandNumbers(mlir::ValueRange operands, bool runsLoops, std::function<Number(mlir::Type)> any)
      : operands_(operands), runsLoops_(runsLoops), any_(std::move(any)) {}

  /// The values at another place, one of each block.
  llvm::SmallVector<Number> next();

private:
  /// What is known of a place, and of those in other blocks that moving elements brings there, by
  /// how they are moved.
  struct Place {
    llvm::DenseMap<mlir::Value, Number> known;
    std::map<std::string, Place> before;
  };

  Number at(Place &place, mlir::Value value);
  Number made(Place &place, mlir::Value value);
  static void forget(Place &place, mlir::Value value);
  /// Puts the results of a loop into `place`.
  void run(Place &place, mlir::scf::ForOp loop);

  mlir::ValueRange operands_;
  bool runsLoops_;
  std::function<Number(mlir::Type)> any_;
};

} // namespace blockscope::gpu
