// Failed asserts and deadlocks as findings; part of every check.
#pragma once

#include "sanitizer/collector.h"
#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"

#include <mutex>

namespace blockscope::sanitizer {

class EventSanitizer : public Observer {
public:
  explicit EventSanitizer(FindingCollector &collector) : collector_(collector) {}

  bool handlesBadLanes() const override { return false; }
  bool canRepeat() const override { return true; }
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;
  void onAssert(const OpInfo &op, int64_t program, llvm::ArrayRef<int64_t> failedLanes,
                llvm::ArrayRef<int64_t> blockShape, llvm::StringRef message,
                llvm::ArrayRef<std::pair<std::string, std::string>> values) override;
  void onDeadlock(llvm::ArrayRef<AccessSite> sites) override;

private:
  /// The element that an atomic or a volatile load touched last.
  struct Touched {
    const Allocation *allocation;
    int64_t offset;
  };

  std::string nameOf(int64_t program) const;

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
  std::mutex mutex_;
  llvm::DenseMap<int64_t, Touched> touched_; ///< by program: what it waits for when it is stuck
};

} // namespace blockscope::sanitizer
