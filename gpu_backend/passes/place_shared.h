// Where buffers lie in shared memory: those that are not needed at the same time share bytes.
//
// Time is counted in the ops of the kernel. A buffer is needed from its allocation to its last use;
// around a loop in which it is used and not allocated, to the end of the loop. One that is given
// bytes of an earlier one begins with a barrier (its lowering sees `isReused`).
#pragma once

#include "gpu_backend/gpu_target.h"
#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace blockscope::gpu {

/// At a tl.barrier: another one before it does for it what it is there for.
inline constexpr llvm::StringLiteral kCoveredAttribute = "tlg.covered";

/// At a tlg.alloc_shared: it shares no bytes with others of its block.
inline constexpr llvm::StringLiteral kApartAttribute = "tlg.apart";

/// Keeps apart the buffers that threads fill in one iteration of a loop, one behind the other, as
/// for the operands of several dots: a buffer with the bytes of one before it waits at a barrier
/// until all have read that. Not where fewer CTAs would have room.
void keepBuffersApart(mlir::func::FuncOp function, const GpuTarget &target, int numWarps);

/// How many bytes a function takes for buffers that are kept apart.
int64_t apartBytes(mlir::func::FuncOp function);

/// Calls `function` with the ops at which a dot's operands are still read: the waits for its sums,
/// in its block or where they go from there, and what is on the way.
void eachReader(tlg::WgmmaOp dot, llvm::function_ref<void(mlir::Operation *)> function);

/// Calls `function` with the ops until which `buffer`, or a view of one, is needed.
void eachUse(mlir::Value buffer, llvm::function_ref<void(mlir::Operation *)> function);

class SharedPlaces {
public:
  SharedPlaces() = default;
  /// Gives every tlg.alloc_shared of the kernel its place.
  explicit SharedPlaces(mlir::func::FuncOp function);

  /// The bytes of all buffers together.
  int64_t sizeBytes() const { return sizeBytes_; }
  bool isReused(mlir::Operation *alloc) const { return reused_.contains(alloc); }
  /// The bytes from 0 on that belong to buffers not needed at `op`; those that begin later wait at
  /// a barrier.
  int64_t freeBytes(mlir::Operation *op) const;

private:
  /// From `first` to `last`, both included.
  struct Life {
    int first, last;
  };
  struct Placed {
    tlg::AllocSharedOp alloc;
    int64_t begin, end;
    Life life;
    Life outside;    ///< as if the outermost loop that has the buffer needed it all the time
    bool hasBarrier; ///< before it is first written
  };
  int number(mlir::Operation *op, int next);
  void place(Placed block);
  Life lifeIn(tlg::AllocSharedOp alloc, mlir::Block *block) const;
  void makeRoomForConversions(mlir::func::FuncOp function);
  void markCoveredBarrier(tlg::AllocSharedOp alloc, const Placed &own) const;

  llvm::DenseMap<mlir::Operation *, Life> moments_; ///< of an op and those in it
  llvm::SmallVector<Placed> blocks_;
  llvm::DenseSet<mlir::Operation *> reused_;
  int64_t sizeBytes_ = 0;
};

} // namespace blockscope::gpu
