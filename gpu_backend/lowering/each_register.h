// Ops that work on each element by itself: one function makes a register of the result from the
// same register of each operand.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

using Operands = llvm::ArrayRef<llvm::Value *>;
using MakeOne = llvm::Value *(*)(Lowering &, mlir::Operation *, Operands);

/// For each register of a block that an op makes the first one whose element is known to be equal,
/// by `tlg.equal_runs` or as sum or difference of indices (distances of a query from keys): itself,
/// where nothing is known.
llvm::SmallVector<int> firstEqualRegisters(mlir::Operation *op);

/// Lowers an op whose result is made register by register from its operands' registers.
template <MakeOne makeOne>
mlir::LogicalResult eachRegister(Lowering &lowering, mlir::Operation *op) {
  Registers results;
  llvm::SmallVector<llvm::Value *, 4> operands(op->getNumOperands());
  for (auto [reg, first] : llvm::enumerate(firstEqualRegisters(op))) {
    if (first != static_cast<int>(reg)) {
      results.push_back(results[first]);
      continue;
    }
    for (auto [operand, value] : llvm::zip(operands, op->getOperands())) {
      const llvm::ArrayRef<llvm::Value *> registers = lowering.get(value);
      operand = registers[registers.size() == 1 ? 0 : reg]; // a scalar goes with every register
    }
    results.push_back(makeOne(lowering, op, operands));
  }
  lowering.set(op->getResult(0), results);
  return mlir::success();
}

/// Floats that an op takes as they are; it computes narrower ones in fp32 and rounds once, as the
/// CPU does.
enum class NarrowestFloat : uint8_t { Fp16, Fp32 };

/// Lowers an op on floats as `each` does, with operands widened and the result rounded back.
mlir::LogicalResult widened(Lowering &lowering, mlir::Operation *op, NarrowestFloat narrowest,
                            MakeOne makeOne);

template <MakeOne makeOne, NarrowestFloat narrowest = NarrowestFloat::Fp16>
mlir::LogicalResult eachFloat(Lowering &lowering, mlir::Operation *op) {
  return widened(lowering, op, narrowest, makeOne);
}

} // namespace blockscope::gpu
