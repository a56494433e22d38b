// How many registers of a thread the blocks take that are held at an op.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace blockscope::gpu {

/// Registers of 32 bits that a thread holds of the blocks of a piece of code, before each of its
/// ops. What is made of indices is not counted, nor are masks: ptxas makes them again.
class LiveWords {
public:
  explicit LiveWords(mlir::Block &block);

  int before(mlir::Operation *op) const { return before_.lookup(op); }

private:
  llvm::DenseMap<mlir::Operation *, int> before_;
};

/// The registers that a thread is taken to need in a piece of code, with some for addresses; may be
/// more than it can have.
int registersIn(mlir::Block &block);

} // namespace blockscope::gpu
