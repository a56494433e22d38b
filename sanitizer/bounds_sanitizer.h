// asan: every active lane's bytes against the exact extents of its tensor.
#pragma once

#include "sanitizer/collector.h"
#include "sanitizer/observation.h"

#include <vector>

namespace blockscope::sanitizer {

/// Reports lanes that the machine refused, and accepted ones that are outside the argument's view.
class BoundsSanitizer : public Observer {
public:
  /// `checkViews`: an access inside the storage but outside the view is an error too.
  BoundsSanitizer(FindingCollector &collector, bool checkViews)
      : collector_(collector), checkViews_(checkViews) {}

  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.repeat = ObserverPlan::Repeat::Accepts;
    plan.takesRefusedLanes = true;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override { launch_ = &launch; }
  void onAccess(const Access &access) override;
  void onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane> lanes) override;
  void onLaunchEnd() override;

private:
  void reportOutsideView(const Access &access);
  Finding describeOutsideView(const Access &access, const Allocation &allocation, int64_t lane,
                              int64_t offset, int64_t count) const;
  Finding describe(const Access &access, const RefusedGroup &group, size_t refused) const;
  /// Returns what an earlier launch had at a host address that is no tensor any more.
  const TensorInfo *freedTensorAt(uint64_t hostAddress) const;

  struct Range {
    uint64_t begin, end;
    TensorInfo info;
  };

  FindingCollector &collector_;
  bool checkViews_;
  const LaunchInfo *launch_ = nullptr;
  std::vector<Range> earlier_; ///< storages of earlier launches
};

} // namespace blockscope::sanitizer
