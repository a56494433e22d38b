// Lanes that break a rule of an op fail as those of a device_assert do.
#pragma once

#include "interpreter/describe.h"
#include "interpreter/execution_context.h"

namespace blockscope::interpreter {

/// Reports `lanes`, of which there is at least one, of a block of `shape`; without an observer that
/// takes asserts the launch fails. Call it only where asserts are enabled.
inline void failLanes(ExecutionContext &context, llvm::ArrayRef<int64_t> lanes,
                      llvm::ArrayRef<int64_t> shape, const std::string &message,
                      const NamedValues &values) {
  LaunchState &launch = *context.launch;
  const FailedAssert event{context.op, context.linearProgram,  context.sequence, lanes,
                           shape,      context.loopIterations, message,          values};
  for (Observer *observer : launch.observers)
    observer->onAssert(event);
  if (!launch.observers.plan().takesAsserts)
    launch.fail({describeAssert(launch.info, event)});
}

} // namespace blockscope::interpreter
