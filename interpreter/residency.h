// How many programs a GPU can hold at a time.
//
// Programs begin in order of their numbers, and one that waits keeps its place. So a launch in
// which so many wait, none of which can go on before a further one has begun, never ends there.
#pragma once

#include "interpreter/events.h"

namespace blockscope::interpreter {

/// The GPUs that the numbers are for.
constexpr llvm::StringLiteral kResidencyGpus = "an H100 or H200";
/// Of such a GPU, with the SXM board. It holds as many programs of any kernel.
constexpr int64_t kMultiprocessors = 132;

/// Returns the most programs of a launch that such a GPU holds at a time, by its warps alone:
/// registers and shared memory may allow fewer.
int64_t mostResident(const LaunchInfo &launch);
/// Returns how many programs of a launch such a GPU holds at a time, by all that its kernel takes,
/// where that is known.
Residency residencyOf(const LaunchInfo &launch);
/// Whether programs may come to wait for one that such a GPU does not hold.
bool mayExceedResidency(const LaunchInfo &launch);

} // namespace blockscope::interpreter
