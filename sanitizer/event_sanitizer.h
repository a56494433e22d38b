// Failed asserts and deadlocks as findings; part of every check.
#pragma once

#include "interpreter/observer.h"
#include "sanitizer/collector.h"

namespace blockscope {

class EventSanitizer : public Observer {
public:
  explicit EventSanitizer(FindingCollector &collector) : collector_(collector) {}

  bool handlesBadLanes() const override { return false; }
  void onLaunchBegin(const LaunchInfo &launch) override { launch_ = &launch; }
  void onAssert(const OpInfo &op, int64_t program, llvm::ArrayRef<int64_t> failedLanes,
                llvm::ArrayRef<int64_t> blockShape, llvm::StringRef message,
                llvm::ArrayRef<std::pair<std::string, std::string>> values) override;
  void onDeadlock(llvm::ArrayRef<AccessSite> sites) override;

private:
  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
};

} // namespace blockscope
