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

/// Programs run in order of their numbers, so that the first error is the same in every run.
class ProgramOrder : public Observer {
  bool wantsSequentialPrograms(const LaunchInfo &) const override { return true; }
};

} // namespace

CheckSession::CheckSession(const CheckOptions &options)
    : collector_(options.maxFindings, options.stopAtFirst) {
  if (options.stopAtFirst)
    observers_.push_back(std::make_unique<ProgramOrder>());
  observers_.push_back(std::make_unique<EventSanitizer>(collector_));
  observers_.push_back(makeBounds(collector_, options));
  if (options.tsan)
    observers_.push_back(std::make_unique<RaceSanitizer>(collector_));
}

void CheckSession::watch(interpreter::LaunchState &launch) {
  collector_.watch(launch.stop);
  for (const auto &observer : observers_)
    launch.observers.push_back(observer.get());
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
