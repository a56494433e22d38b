// Which arguments of a kernel an access goes to, and which of them must not overlap in memory.
//
// Two arguments may be views of one storage, which only a launch can see. A pass that moves an
// access past one of another argument records the pair; a launch whose arguments overlap after all
// runs another compilation of the kernel, which relies on the other pairs (kMayOverlapAttribute).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace blockscope::gpu {

/// Returns the number of the kernel's argument that a pointer or block of pointers comes from, also
/// by way of loops' variables; nothing if that cannot be seen.
std::optional<unsigned> argumentOf(mlir::Value pointer);

/// Whether these arguments may overlap in memory: they are the same, or nothing may be relied on
/// (kMayOverlapAttribute). Where they may not, requireDisjoint has to be told.
bool mayOverlap(mlir::func::FuncOp function, unsigned argument, unsigned other);

/// Records that the function is right only where these arguments do not overlap in memory.
void requireDisjoint(mlir::func::FuncOp function, unsigned argument, unsigned other);

/// Whether memory, or what others see of it, may be different behind an op, or the op sees it.
/// Assertions, assumptions and prints change nothing.
bool ordersMemory(mlir::Operation *op);

/// Whether an op writes through its first operand, and nobody learns anything by it. An atomic
/// whose result nobody uses may release what was written before it, but acquires nothing: loads
/// behind it may come before it.
bool isPlainWrite(mlir::Operation *op);

/// What a loop does to global memory, for a load that is to come some iterations earlier.
class LoopWrites {
public:
  explicit LoopWrites(mlir::scf::ForOp loop);

  /// Whether the loop writes nothing that anybody looks at.
  bool isEmpty() const { return !isUnknown_ && stored_.empty(); }
  /// Whether a load through `pointer` may come earlier, if its argument and those that the loop
  /// stores to do not overlap.
  bool canMove(mlir::Value pointer) const;
  /// The arguments that the loop stores to.
  llvm::ArrayRef<unsigned> stored() const { return stored_.getArrayRef(); }
  /// Where a load through `pointer` must not come earlier: the first op that may write what it
  /// loads, null if that is none; else the first op that orders memory.
  mlir::Operation *firstWrite(mlir::Value pointer) const;
  mlir::Operation *firstOrder() const { return firstOrder_; }

private:
  mlir::scf::ForOp loop_;
  bool isUnknown_ = false; ///< something may write anywhere, or others may learn what was written
  mlir::Operation *firstOrder_ = nullptr;
  llvm::SmallSetVector<unsigned, 2> stored_; ///< arguments
};

} // namespace blockscope::gpu
