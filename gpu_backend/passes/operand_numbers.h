// Elements that blocks of the block IR can have, at random: what computes them is evaluated.
#pragma once

#include "gpu_backend/passes/region_numbers.h"

#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace blockscope::gpu {

/// The values that blocks have at one place, such as the operands of a reduction. What is loaded
/// where a mask is true, variables of loops and all that is not known here may be anything; what is
/// not loaded is what the load says. All that the blocks can be is given, and maybe more.
class OperandNumbers {
public:
  /// `any` gives any number of a type.
  OperandNumbers(mlir::ValueRange operands, std::function<Number(mlir::Type)> any)
      : operands_(operands), any_(std::move(any)) {}

  /// The values at another place, one of each block.
  llvm::SmallVector<Number> next();

private:
  using Place = llvm::DenseMap<mlir::Value, Number>; ///< what is known of it

  Number at(Place &place, mlir::Value value);
  Number made(Place &place, mlir::Value value);

  mlir::ValueRange operands_;
  std::function<Number(mlir::Type)> any_;
};

} // namespace blockscope::gpu
