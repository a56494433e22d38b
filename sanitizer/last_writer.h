// An observer that answers one question: who stored the byte at this address last.
#pragma once

#include "sanitizer/observation.h"

#include <mutex>
#include <optional>
#include <vector>

namespace blockscope::sanitizer {

/// Watches one launch at a time; programs run in order of their number, so the answer is the same
/// in every run.
class LastWriter : public Observer {
public:
  struct Write {
    std::vector<int32_t> program; ///< x, y, z
    std::string op;
    SourceLocation location;
  };

  /// `address` is the host's, inside an argument of the launch.
  explicit LastWriter(uint64_t address) : address_(address) {}

  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.runs = plan.needs.programOrder = true;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override;
  void onAccess(const Access &access) override;

  /// Nothing when no program stored it.
  const std::optional<Write> &found() const { return found_; }

private:
  bool covers(const Access &access, const AccessRun &run) const;

  const uint64_t address_;
  std::array<int32_t, 3> grid_ = {1, 1, 1};
  const MemoryMap *memory_ = nullptr;
  std::mutex mutex_;
  std::optional<Write> found_;
};

} // namespace blockscope::sanitizer
