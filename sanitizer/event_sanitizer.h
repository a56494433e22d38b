// Failed asserts and programs that never end as findings; part of every check.
#pragma once

#include "sanitizer/collector.h"
#include "sanitizer/observation.h"

namespace blockscope::sanitizer {

class EventSanitizer : public Observer {
public:
  explicit EventSanitizer(FindingCollector &collector) : collector_(collector) {}

  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.repeat = ObserverPlan::Repeat::Accepts;
    plan.takesAsserts = plan.takesDeadlocks = true;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override { launch_ = &launch; }
  void onAssert(const FailedAssert &failed) override;
  void onDeadlock(llvm::ArrayRef<StuckProgram> stuck) override;
  void onEndlessLoop(const EndlessLoop &loop) override;

private:
  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
};

} // namespace blockscope::sanitizer
