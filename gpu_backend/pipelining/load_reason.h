// Why a load is not begun iterations before its data is used.
#pragma once

namespace blockscope::gpu {

enum class LoadReason {
  None,          ///< it is begun early
  NoDot,         ///< no dot uses it, and the loop does not ask for stages itself
  OneStage,      ///< of the loop: its stages leave nothing to begin early
  Unsigned,      ///< of the loop: its counter is unsigned
  LoopInside,    ///< of the loop: a loop in it is pipelined
  StoredTo,      ///< the loop may write what it loads
  MemoryOrder,   ///< the loop has ops by which programs learn what others wrote
  NotATile,      ///< it loads one element, or has been given no layout
  Narrow,        ///< its pieces are too small for asynchronous copies
  Volatile,      ///< it is volatile
  CacheModifier, ///< asynchronous copies do not have its cache modifier
  Other,         ///< what it gives where its mask is false is not zero, and a dot uses it
  Address,       ///< its address or mask cannot be computed ahead
  NoAsyncCopy,   ///< the target has no asynchronous copies
  NoMemory,      ///< shared memory has no place for two buffers of the loop's loads
};

} // namespace blockscope::gpu
