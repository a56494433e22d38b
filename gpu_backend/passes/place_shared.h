// Where buffers lie in shared memory: those that are not needed at the same time share bytes.
//
// Time is counted in the ops of the kernel's outermost block and of the branches in it (after an
// early return all of a kernel is in one); a loop is one moment. A buffer that is given bytes of an
// earlier one begins with a barrier (its lowering sees `isReused`).
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace blockscope::gpu {

class SharedPlaces {
public:
  SharedPlaces() = default;
  /// Gives every tlg.alloc_shared of the kernel its place.
  explicit SharedPlaces(mlir::func::FuncOp function);

  /// The bytes of all buffers together.
  int64_t sizeBytes() const { return sizeBytes_; }
  bool isReused(mlir::Operation *alloc) const { return reused_.contains(alloc); }
  /// The bytes from 0 on that belong to buffers needed neither at `op` nor later.
  int64_t freeBytes(mlir::Operation *op) const;

private:
  struct Block {
    int64_t begin, end;
    int first, last; ///< moments
  };
  void countMoments(mlir::Block &block);
  int momentOf(mlir::Operation *op) const;
  int lastUse(tlg::AllocSharedOp alloc) const;
  int lastWait(mlir::Operation *dot) const;

  llvm::DenseMap<mlir::Operation *, int> moments_;
  int end_ = 0; ///< of all moments
  llvm::SmallVector<Block> blocks_;
  llvm::DenseSet<mlir::Operation *> reused_;
  int64_t sizeBytes_ = 0;
};

} // namespace blockscope::gpu
