// Turns asserts and deadlocks into findings.
#include "sanitizer/event_sanitizer.h"

#include "sanitizer/describe.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscope::sanitizer {

void EventSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  touched_.clear();
}

void EventSanitizer::onAccess(const Access &access) {
  const bool canWait = access.isVolatile || access.kind == AccessKind::AtomicRmw ||
                       access.kind == AccessKind::AtomicCas;
  if (!canWait || launch_->mayRepeat || !access.allocation || access.activeLanes == 0)
    return;
  const std::lock_guard lock(mutex_);
  touched_[access.program] = {access.allocation, access.minOffset};
}

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

/// "'lock_ptr'[0]", what a stuck program waits for.
std::string EventSanitizer::nameOf(int64_t program) const {
  const auto touched = touched_.find(program);
  if (touched == touched_.end())
    return "memory";
  std::string index;
  for (int64_t at : touched->second.allocation->elementIndex(touched->second.offset))
    index += (index.empty() ? "" : ", ") + std::to_string(at);
  return "'" + touched->second.allocation->info.name + "'[" + index + "]";
}

void EventSanitizer::onDeadlock(llvm::ArrayRef<AccessSite> sites) {
  const auto programOf = [&](const AccessSite &site) {
    return site.program[0] + int64_t{launch_->grid[0]} *
                                 (site.program[1] + int64_t{launch_->grid[1]} * site.program[2]);
  };
  // One finding for each line at which programs wait.
  for (const AccessSite &site : sites) {
    const int64_t program = programOf(site);
    const std::string cause = "deadlock " + placeKey(site.location);
    collector_.add(cause, {launch_->launchIndex, program, 0, site.lane}, 1, [&] {
      Finding finding = beginFinding("deadlock", *launch_);
      finding.site = site;
      if (const auto touched = touched_.find(program); touched != touched_.end())
        describeElement(finding, *touched->second.allocation, touched->second.offset);
      finding.message =
          llvm::formatv("program {0} waits here for ever for {1}: all {2} live program{3} only "
                        "spin and no memory changes",
                        program, nameOf(program), sites.size(), sites.size() == 1 ? "" : "s")
              .str();
      constexpr size_t kMostListed = 8;
      for (const AccessSite &stuck : sites.take_front(kMostListed))
        finding.values.push_back({llvm::formatv("program {0}", programOf(stuck)).str(),
                                  llvm::formatv("waits for {0} in line {1}",
                                                nameOf(programOf(stuck)), stuck.location.line)
                                      .str()});
      finding.hint = "who releases this? look for a lock that is taken twice, taken in another "
                     "order elsewhere, or never released";
      return finding;
    });
  }
}

} // namespace blockscope::sanitizer
