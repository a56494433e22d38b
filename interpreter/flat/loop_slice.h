// Which values decide whether a loop without bounds goes on.
#pragma once

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace blockscope::interpreter::flat {

/// The part of a loop that its condition depends on: once these carried values are what they were
/// some iterations before, and where it reads memory, memory has not changed since, it goes on for
/// ever.
struct LoopSlice {
  llvm::SmallVector<unsigned> carried; ///< numbers of arguments of the first region
  bool readsMemory = false;
  bool changesMemory = false; ///< somewhere in the loop, in the slice or not
  bool hasAtomics = false;
  /// The last op of the slice outside of inner regions that reads memory; null where there is none.
  mlir::Operation *lastRead = nullptr;
  /// Of a loop that goes on while a carried integer is not `goal`, and adds (or subtracts) `step`
  /// in each iteration; neither changes in the loop.
  struct Count {
    unsigned carried;
    mlir::Value goal, step;
    bool isDown;
  };
  std::optional<Count> count;
};

/// Nothing where the loop waits at a volatile load (the scheduler looks after these, and after
/// those that wait at one atomic), asks for more than memory, or is not a part of the kernel
/// itself.
std::optional<LoopSlice> sliceOf(mlir::scf::WhileOp loop);

} // namespace blockscope::interpreter::flat
