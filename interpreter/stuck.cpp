// Ends launches whose programs never end.
#include "interpreter/stuck.h"

#include "interpreter/describe.h"
#include "interpreter/residency.h"

namespace blockscope::interpreter {
namespace {

/// Of the lanes of a block it is not known which ones wait.
void findLastChange(const LaunchState &launch, StuckProgram &stuck) {
  const Allocation *allocation =
      stuck.lanes == 1 && stuck.address != 0 ? launch.memory.find(stuck.address) : nullptr;
  if (!allocation || !launch.changes.isOn())
    return;
  const int64_t offset = MemoryMap::offsetIn(*allocation, stuck.address);
  const int64_t bytes = allocation->info.elementBytes;
  if (!allocation->inStorage(offset, bytes))
    return;
  stuck.change = launch.changes.find(allocation->hostAt(offset));
  stuck.isUntouched = launch.changes.isUntouched(allocation->hostAt(offset), bytes);
}

} // namespace

StuckProgram stuckProgram(const ExecutionContext &context, DeviceAddress address) {
  // How often the innermost loop has spun says nothing and changes from run to run.
  const llvm::ArrayRef<int64_t> loops = context.loopIterations;
  StuckProgram stuck = {context.op, context.linearProgram, address,
                        loops.empty() ? loops : loops.drop_back(), context.waitsByLoads};
  if (!context.waitsByLoads) {
    stuck.isSwap = context.spinSwaps;
    stuck.lanes = context.spinLanes;
  }
  return stuck;
}

void endInDeadlock(LaunchState &launch, std::vector<StuckProgram> stuck) {
  for (StuckProgram &each : stuck)
    findLastChange(launch, each);
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

void tellNotResident(LaunchState &launch, std::vector<StuckProgram> waiting, int64_t next) {
  for (StuckProgram &each : waiting)
    findLastChange(launch, each);
  for (Observer *observer : launch.observers)
    observer->onNotResident({waiting, next});
}

void endInEndlessLoop(LaunchState &launch, const EndlessLoop &loop) {
  for (Observer *observer : launch.observers)
    observer->onEndlessLoop(loop);
  launch.stop = true;
  if (!launch.observers.plan().takesDeadlocks)
    launch.fail({describeEndlessLoop(launch.info, loop)});
}

} // namespace blockscope::interpreter
