// Ends launches whose programs never end.
#include "interpreter/stuck.h"

#include "interpreter/describe.h"

namespace blockscope::interpreter {

StuckProgram stuckProgram(const ExecutionContext &context, DeviceAddress address) {
  // How often the innermost loop has spun says nothing and changes from run to run.
  const llvm::ArrayRef<int64_t> loops = context.loopIterations;
  return {context.op, context.linearProgram, address, loops.empty() ? loops : loops.drop_back(),
          context.waitsByLoads};
}

void endInDeadlock(LaunchState &launch, llvm::ArrayRef<StuckProgram> stuck) {
  for (Observer *observer : launch.observers)
    observer->onDeadlock(stuck);
  launch.stop = true;
  if (launch.observers.plan().takesDeadlocks)
    return;
  std::vector<Finding> errors;
  for (const WaitingPlace &place : waitingPlaces(stuck))
    errors.push_back(describeDeadlock(launch.info, stuck, place));
  launch.fail(std::move(errors));
}

void endInEndlessLoop(LaunchState &launch, const EndlessLoop &loop) {
  for (Observer *observer : launch.observers)
    observer->onEndlessLoop(loop);
  launch.stop = true;
  if (!launch.observers.plan().takesDeadlocks)
    launch.fail({describeEndlessLoop(launch.info, loop)});
}

} // namespace blockscope::interpreter
