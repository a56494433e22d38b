// Turns asserts and deadlocks into findings.
#include "sanitizer/event_sanitizer.h"

#include "sanitizer/describe.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope {

void EventSanitizer::onAssert(const OpInfo &op, int64_t program,
                              llvm::ArrayRef<int64_t> failedLanes,
                              llvm::ArrayRef<int64_t> blockShape, llvm::StringRef message,
                              llvm::ArrayRef<std::pair<std::string, std::string>> values) {
  const int64_t lane = failedLanes.empty() ? 0 : failedLanes.front();
  const int64_t count = std::max<int64_t>(1, static_cast<int64_t>(failedLanes.size()));
  const std::string cause = ("device-assert " + placeKey(op.location) + message).str();
  collector_.add(cause, {launch_->launchIndex, program, 0, lane}, count, [&] {
    Finding finding = beginFinding("device-assert", *launch_);
    finding.message = message.empty() ? std::string("device_assert failed")
                                      : "device_assert failed: " + message.str();
    finding.site.location = op.location;
    finding.site.program = programIndex(program, launch_->grid);
    finding.site.lane = lane;
    finding.site.blockShape.assign(blockShape.begin(), blockShape.end());
    finding.site.laneIndex = laneIndex(lane, blockShape);
    finding.values.assign(values.begin(), values.end());
    return finding;
  });
}

void EventSanitizer::onDeadlock(llvm::ArrayRef<AccessSite> sites) {
  // One finding for each line at which programs wait.
  for (const AccessSite &site : sites) {
    const int64_t program =
        site.program[0] +
        int64_t{launch_->grid[0]} * (site.program[1] + int64_t{launch_->grid[1]} * site.program[2]);
    const std::string cause = "deadlock " + placeKey(site.location);
    collector_.add(cause, {launch_->launchIndex, program, 0, site.lane}, 1, [&] {
      Finding finding = beginFinding("deadlock", *launch_);
      finding.site = site;
      if (sites.size() > 1)
        finding.other = &site == &sites.front() ? sites[1] : sites.front();
      finding.message =
          llvm::formatv("program {0} waits here for ever: all {1} live program{2} only spin and no "
                        "memory changes",
                        program, sites.size(), sites.size() == 1 ? "" : "s")
              .str();
      finding.hint = "who releases this? look for a lock that is taken twice, taken in another "
                     "order elsewhere, or never released";
      return finding;
    });
  }
}

} // namespace blockscope
