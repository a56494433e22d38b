// How many programs a GPU can hold at a time.
//
// Programs begin in order of their numbers, and one that waits keeps its place. So a launch in
// which so many wait, none of which can go on before a further one has begun, never ends there.
#pragma once

#include "interpreter/events.h"

namespace blockscope::interpreter {

/// The GPUs that the bound is for.
constexpr llvm::StringLiteral kResidencyGpus = "an H100 or H200";

/// Returns the most programs of a launch that such a GPU holds at a time: what registers and shared
/// memory allow may be fewer.
int64_t mostResident(const LaunchInfo &launch);
/// Returns that number where programs may come to wait for one that such a GPU does not hold.
std::optional<int64_t> residencyBound(const LaunchInfo &launch);

} // namespace blockscope::interpreter
