// How quickly a kernel gets on with the code that it has, and whether other code is better.
#pragma once

#include "gpu_backend/codegen/warp_time.h"
#include "gpu_backend/gpu_kernel.h"

#include <optional>

namespace blockscope::gpu {

/// How quickly a kernel's warps get on.
struct Pace {
  WarpTime warp; ///< one alone
  /// Cycles of a scheduler, for each of as many as run at the same time, where loads come from
  /// memory and where they come from a cache.
  double fromMemory = 0, fromCache = 0;
  int warps = 0; ///< that run at the same time
};

/// Nothing for code of several functions, or of which ptxas takes long to make more. `like` is the
/// pace of other code of the kernel, for whose work it is.
std::optional<Pace> paceOf(const GpuKernel &kernel, const Pace *like = nullptr);

size_t codeBytesOf(const GpuKernel &kernel);

/// How much of other code's time better code may take at most: of the work of a scheduler, of the
/// cycles of a warp that is alone, as where a launch has few programs, and of both together.
struct Limits {
  double work, alone, time = 0.92;
};

/// Which share of other code's time some code takes; nothing where that is not clearly less, or not
/// within the limits, or where it takes longer with loads that come from a cache.
///
/// A scheduler begins one instruction in a cycle, and all of its warps wait at the same time; but
/// not every wait of one falls into instructions of others, so neither alone is the time. Fitted to
/// 45 kernels at five numbers of registers each (H200), then tried on 168 others for which it took
/// another number than ptxas: their cases are 1.06 times as fast, and 14 of them over 3 % slower.
/// The limits of RegisterChoice exclude nine of these.
std::optional<double> shareOfTime(const Pace &pace, const Pace &than, Limits limits);

/// Whether a scheduler has less to do for code than for other code, among as many warps as have
/// room: it begins one instruction in a cycle, or waits for all of them. It does not wait for
/// memory where as much is under way as the memory can bring in the time of an answer, if each load
/// brings a number to each lane.
bool isLessWork(const Pace &pace, const Pace &than);

inline constexpr double kClearly = 0.9; // of the cycles of a warp

/// Whether a warp alone waits in rounds for the loads of its loop.
bool waitsInRounds(const Pace &pace);

/// How many answers of memory a warp waits for, one after the other.
double roundsOf(const Pace &pace);

/// Whether a warp waits for memory in each iteration of its loop, however early loads are meant to
/// begin.
bool waitsInEachIteration(const Pace &pace);

} // namespace blockscope::gpu
