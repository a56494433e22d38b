// Which values decide whether a loop without bounds goes on.
#pragma once

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace blockscope::interpreter::flat {

/// The part of a loop that its condition depends on, where the loop changes no memory: once these
/// carried values are what they were an iteration before, and memory too, it goes on for ever.
struct LoopSlice {
  llvm::SmallVector<unsigned> carried; ///< numbers of arguments of the first region
  bool readsMemory = false;
  tl::LoadOp lastLoad; ///< of those outside of inner regions; null where there is none
};

/// Nothing where the loop stores, or waits at an atomic or a volatile load (the scheduler looks
/// after these), or is not a part of the kernel itself.
std::optional<LoopSlice> sliceOf(mlir::scf::WhileOp loop);

} // namespace blockscope::interpreter::flat
