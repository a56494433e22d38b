// Finds out what a block of addresses touches: runs of lanes, the allocation, the lanes to refuse.
//
// The whole block is checked by its runs: a run is one range check and one copy. Lane by lane only
// when a run does not lie in one allocation, or is misaligned.
#pragma once

#include "core/type.h"
#include "interpreter/execution_context.h"

#include <cstring>

namespace blockscope::interpreter {

/// The static side of a memory op, prepared once for all its executions.
struct AccessShape {
  AccessKind kind = AccessKind::Load;
  int64_t lanes = 1;
  int elementBytes = 1;
  int sizeLog = 0; ///< logarithm of elementBytes
  DType dtype = DType::Void;
  llvm::SmallVector<int64_t, 4> blockShape;
  AtomicSemantics semantics = AtomicSemantics::Relaxed;
  AtomicScope scope = AtomicScope::Gpu;
  bool isVolatile = false;

  AccessShape(AccessKind kind, const Type &pointer);
  bool writes() const { return writesMemory(kind); }
};

/// What a block access touches. Arrays live until the next call on the same thread.
struct ResolvedLanes {
  const uint8_t *mask = nullptr;  ///< active lanes that were not refused; null when all
  const AccessBox *box = nullptr; ///< what a tile knows of its lanes
  llvm::ArrayRef<AccessRun> runs;
  /// No useful runs: go lane by lane (then `runs` is empty unless an observer wanted them).
  bool isScattered = false;
  const Allocation *allocation = nullptr; ///< null when lanes differ or none is active
  uint64_t delta = 0;                     ///< host address minus address, with `allocation`
  int64_t minOffset = 0;
  int64_t maxOffset = 0;
  int64_t activeLanes = 0;
  int64_t firstLane = 0; ///< the first active one
  llvm::ArrayRef<RefusedLane> refused;
};

/// Resolves the active lanes of one access and tells the observers of refused ones; ends the launch
/// when none takes them over.
ResolvedLanes resolveLanes(ExecutionContext &context, const AccessShape &shape,
                           const DeviceAddress *addresses, const uint8_t *mask);

/// Host address minus device address for the addresses of one allocation.
inline uint64_t hostDelta(const Allocation &allocation, DeviceAddress address) {
  const uint64_t viewAddress = (address & kDeviceTag) ? allocation.base : allocation.address;
  return reinterpret_cast<uint64_t>(allocation.view) - viewAddress;
}

/// Copies between a block and a tensor. Where programs race it is the user's race: by this name the
/// thread sanitizer knows (tests/sanitize/thread.supp).
inline void copyTensorBytes(void *to, const void *from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// Tells the observers about the access.
void notifyAccess(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                  const DeviceAddress *addresses, const void *values, const void *operandValues,
                  bool valuesAreScalar = false);

/// Notes that memory changed, where the scheduler needs to know. Returns the number of the change.
inline uint64_t noteProgress(ExecutionContext &context) {
  return context.launch->info.countsChanges
             ? context.launch->progress.fetch_add(1, std::memory_order_release) + 1
             : 0;
}

/// Notes who gave an element its value (LastChanges), of an atomic on one element.
void noteChange(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes,
                Change change);
/// The same for a block, and for plain stores, of which no more than their place is kept.
void noteRange(ExecutionContext &context, const AccessShape &shape, const ResolvedLanes &lanes);

/// Sets `context.spinning` when this op saw the same as the last time (and changed nothing).
/// `isSwap`: it tries to put a value in the place of the one that it sees.
void noteSeen(ExecutionContext &context, const AccessShape &shape, const void *op,
              const void *values, bool changed, bool isSwap = false);

} // namespace blockscope::interpreter
