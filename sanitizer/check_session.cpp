// Puts the sanitizers of a session together.
#include "sanitizer/check_session.h"

#include "core/report.h"
#include "sanitizer/bounds_sanitizer.h"
#include "sanitizer/event_sanitizer.h"
#include "sanitizer/race_sanitizer.h"

namespace blockscope::sanitizer {

namespace {

/// Without asan a refused access still must not end the run of the other checks: the machine's own
/// verdict is enough, so bounds are always watched, and only the views are left to asan.
std::unique_ptr<Observer> makeBounds(FindingCollector &collector, const CheckOptions &options) {
  return std::make_unique<BoundsSanitizer>(collector, options.asan && options.checkViews);
}

/// Takes back what the sanitizers have found in a trial that is done again.
class TrialKeeper : public Observer {
public:
  TrialKeeper(FindingCollector &collector, bool stopsAtFirst)
      : collector_(collector), stopsAtFirst_(stopsAtFirst) {}

  /// Where the first error ends the launch, programs run in order of their numbers, so that it is
  /// the same in every run.
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.programOrder = stopsAtFirst_;
    plan.repeat = stopsAtFirst_ ? ObserverPlan::Repeat::Refuses : ObserverPlan::Repeat::Asks;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override {
    if (launch.isTrial)
      collector_.remember();
  }
  void onLaunchRepeat() override { collector_.revert(); }

private:
  FindingCollector &collector_;
  bool stopsAtFirst_;
};

} // namespace

CheckSession::CheckSession(const CheckOptions &options)
    : collector_(options.maxFindings, options.stopAtFirst) {
  observers_.push_back(std::make_unique<TrialKeeper>(collector_, options.stopAtFirst));
  observers_.push_back(std::make_unique<EventSanitizer>(collector_));
  observers_.push_back(makeBounds(collector_, options));
  if (options.tsan)
    observers_.push_back(std::make_unique<RaceSanitizer>(collector_));
}

void CheckSession::watch(interpreter::LaunchState &launch) {
  collector_.watch(launch.stop);
  for (const auto &observer : observers_)
    launch.observers.add(*observer);
}

std::string CheckSession::reportText(bool color) const {
  const std::vector<Finding> all = findings();
  if (all.empty())
    return "no findings";
  std::string text = findingsAsText(all, color);
  if (const size_t dropped = droppedCauses())
    text += "; " + std::to_string(dropped) + " further causes are not shown (--max-findings)";
  return text;
}

std::string CheckSession::reportJson() const { return findingsAsJson(findings()); }

} // namespace blockscope::sanitizer
