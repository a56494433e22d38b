// A compiled kernel: its code, and all that a launch of it needs to know.
//
// What the launcher (gpu_backend/driver) passes to a kernel, in this order:
//   1. the run-time arguments: pointers as 8 bytes, floats and integers in the size of their dtype,
//      int1 as one byte;
//   2. if `globalScratchBytes` is not 0, a pointer to scratch memory for the whole grid;
//   3. if `takesDebugBuffer`, a pointer to a debug buffer (below);
//   4. for each of `tensorMaps` the 128 bytes of the map, aligned to 64.
// Facts about arguments come as attributes of the function's arguments: `tl.divisibility` (i32), by
// how many bytes a pointer, or by what an integer, can be divided.
//
// Debug buffer, filled by device_assert and device_print, read by the host after the launch:
//   u32 usedBytes (what records asked for, by atomic add; above capacityBytes the rest is lost),
//   u32 capacityBytes of the records, u32 failedAsserts (elements that failed, by atomic add),
//   u32 reserved; then records of 24 bytes and 8 for each value: u32 site (in `debugSites`),
//   i32 program number per axis (3), u32 flat index of the element in its block (0 for a scalar),
//   u32 number of values, each value's bits in 8 bytes.
// One record per element, by the thread that owns it. An assert that failed adds one without values
// and the program goes on.
#pragma once

#include "core/dtype.h"
#include "core/finding.h"
#include "core/memory_plan.h"
#include "core/source_location.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/tensor_map.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace blockscope {

/// How long a stage of the compiler took.
struct StageTime {
  std::string stage;
  int64_t elapsedNs = 0;
};

/// A device_assert or device_print of the kernel.
struct DebugSite {
  bool isAssert = false;
  std::string text; ///< the assert's message or the print's prefix
  SourceLocation location;
  std::vector<DType> values;  ///< of one record, in order
  std::vector<int64_t> shape; ///< of the block; empty for scalars
  bool hex = false;
};

/// A kernel ready to be loaded.
struct GpuKernel {
  std::string name; ///< of the function in the cubin (symbolOf)
  std::string tl, tlg, llir, ptx;
  std::string plan;  ///< of the loops (pipelining/plan.h), as text
  std::string cubin; ///< bytes
  GpuTarget target;
  int numWarps = 4; ///< warps of one CTA, those of warp specialisation included
  int numCtas = 1;  ///< cluster size; the launcher starts grid x numCtas CTAs along x
  int sharedBytes = 0;
  int registers = 0;
  int spillBytes = 0;
  bool loadsEarly = false;         ///< a loop loads into registers what its next iteration needs
  uint64_t globalScratchBytes = 0; ///< per program; the launcher allocates it for the whole grid
  uint64_t globalScratchAlign = 128;
  bool takesDebugBuffer = false;
  std::vector<TensorMap> tensorMaps;
  /// Pairs of run-time arguments that must not overlap in memory, by number. Where those of a
  /// launch do, or have no tensor maps, the kernel compiled without `tma` and with `mayOverlap` is
  /// for it.
  std::vector<std::pair<int, int>> disjoint;
  /// Run-time integers that must be at least 0 or 1: number, width in bits, and that. Else the
  /// kernel compiled with `mayBeNegative` is for the launch.
  std::vector<std::array<int, 3>> atLeast;
  std::vector<DebugSite> debugSites;
  std::vector<std::string> libraries; ///< paths of the bitcode that it calls functions of
  std::vector<StageTime> times;
  std::vector<std::string> warnings; ///< of ptxas, in its words
  /// What may cost the kernel speed (docs/gpu.md lists the codes); a warning, or a note where the
  /// author may well have meant it.
  std::vector<Finding> notes;
  MemoryPlan memory; ///< who reaches what of global memory, and the exchanges through shared memory
};

} // namespace blockscope
