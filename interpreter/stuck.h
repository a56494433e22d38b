// Programs that never end: tells the observers, or ends the launch with an error.
#pragma once

#include "interpreter/execution_context.h"

namespace blockscope::interpreter {

/// Describes a program that spins at `address` in the op that it ran last.
StuckProgram stuckProgram(const ExecutionContext &context, DeviceAddress address);
/// Ends the launch. `stuck` is in order of program numbers, not empty.
void endInDeadlock(LaunchState &launch, llvm::ArrayRef<StuckProgram> stuck);
void endInEndlessLoop(LaunchState &launch, const EndlessLoop &loop);

} // namespace blockscope::interpreter
