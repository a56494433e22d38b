// What a deadlock looks like to observers and in a report.
#pragma once

#include "interpreter/execution_context.h"

namespace blockscope::interpreter::flat {

/// A program that will spin for ever, and the address that it looks at.
struct StuckProgram {
  const ExecutionContext *context;
  DeviceAddress address;
};

/// Tells the observers. When none of them records findings, adds one to the launch's errors: who
/// waits for which element, with lines. `stuck` is in order of program numbers, not empty.
void reportDeadlock(LaunchState &launch, llvm::ArrayRef<StuckProgram> stuck);

} // namespace blockscope::interpreter::flat
