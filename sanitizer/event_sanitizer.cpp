// Collects asserts and programs that never end.
#include "sanitizer/event_sanitizer.h"

namespace blockscope::sanitizer {

void EventSanitizer::onAssert(const FailedAssert &failed) {
  const std::string cause = "device-assert " + placeKey(failed.op->location) + failed.message.str();
  collector_.add(
      cause, {launch_->launchIndex, failed.program, failed.sequence, failed.lanes.front()},
      static_cast<int64_t>(failed.lanes.size()), [&] { return describeAssert(*launch_, failed); });
}

void EventSanitizer::onDeadlock(llvm::ArrayRef<StuckProgram> stuck) {
  for (const WaitingPlace &place : waitingPlaces(stuck)) {
    const std::string cause = "deadlock " + placeKey(stuck[place.programs.front()].op->location);
    for (const size_t number : place.programs)
      collector_.add(cause, {launch_->launchIndex, stuck[number].program, 0, 0}, 1,
                     [&] { return describeDeadlock(*launch_, stuck, place); });
  }
}

void EventSanitizer::onEndlessLoop(const EndlessLoop &loop) {
  collector_.add("deadlock " + placeKey(loop.op->location),
                 {launch_->launchIndex, loop.program, 0, 0}, 1,
                 [&] { return describeEndlessLoop(*launch_, loop); });
}

} // namespace blockscope::sanitizer
