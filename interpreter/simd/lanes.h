// The vectorised loops over the addresses of a block access, one set per instruction set.
//
// Plain as kernels.h: no LLVM, no standard containers, because lanes.cpp is compiled three times.
#pragma once

#include "interpreter/access_run.h"

namespace blockscope::interpreter {

/// The lowest and highest address of active lanes, and all their bits or-ed together.
struct LaneBounds {
  uint64_t low;
  uint64_t high;
  uint64_t bits;
  int64_t active;
};

/// Tables are indexed by the logarithm of the element size: 1, 2, 4, 8 bytes. A null mask means
/// that every lane is active. `delta` is what turns an address into a host address.
struct LaneKernels {
  /// Returns how many leading lanes have the address addresses[0] + i * stride; at least 1.
  int64_t (*runLength)(const uint64_t *addresses, int64_t n, uint64_t stride);
  /// Sets bit i where addresses[i] is not addresses[i - 1] + stride; bit 0 is set. Fills whole
  /// words.
  void (*breakBits)(const uint64_t *addresses, int64_t n, uint64_t stride, uint64_t *bits);
  /// Sets bit i where mask[i] is not 0. Fills whole words.
  void (*activeBits)(const uint8_t *mask, int64_t n, uint64_t *bits);
  LaneBounds (*bounds)(const uint64_t *addresses, const uint8_t *mask, int64_t n);
  /// Reads active lanes; others keep what `out` has. `first` is the first active lane.
  void (*gather[4])(const uint64_t *addresses, const uint8_t *mask, int64_t n, int64_t first,
                    uint64_t delta, void *out);
  void (*scatter[4])(const uint64_t *addresses, const uint8_t *mask, int64_t n, uint64_t delta,
                     const void *values);
  /// Copies runs between memory and a block of all lanes.
  void (*loadRuns[4])(const AccessRun *runs, int64_t count, uint64_t delta, void *out);
  void (*storeRuns[4])(const AccessRun *runs, int64_t count, uint64_t delta, const void *values);
  /// ElementwiseFn of tl.addptr; the payload is the element size, an int64_t.
  void (*addSigned32)(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                      uint32_t scalarOperands, const void *payload);
  void (*addUnsigned32)(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                        uint32_t scalarOperands, const void *payload);
  void (*add64)(int64_t n, int64_t begin, void *const *results, const void *const *operands,
                uint32_t scalarOperands, const void *payload);
};

/// Returns the set for the instruction set in use (interpreter/simd/isa.h).
const LaneKernels &laneKernels();

} // namespace blockscope::interpreter
