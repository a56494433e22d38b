// Programs that never end: tells the observers, or ends the launch with an error.
#pragma once

#include "interpreter/execution_context.h"

namespace blockscope::interpreter {

/// Describes a program that spins at `address` in the op that it ran last.
StuckProgram stuckProgram(const ExecutionContext &context, DeviceAddress address);
/// Ends the launch, with what is known of who changed what these programs wait for. `stuck` is in
/// order of program numbers, not empty. Called without a lock: it may call Python.
void endInDeadlock(LaunchState &launch, std::vector<StuckProgram> stuck);
/// Tells the observers of programs that wait for one that a GPU may never begin. As endInDeadlock.
void tellNotResident(LaunchState &launch, std::vector<StuckProgram> waiting, int64_t next);
void endInEndlessLoop(LaunchState &launch, const EndlessLoop &loop);

} // namespace blockscope::interpreter
