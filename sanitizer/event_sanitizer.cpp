// Failed asserts, programs that never end, or not on every GPU, grids that no GPU takes, and what
// was not checked: part of every check. Python tells of the last two.
#include "interpreter/residency.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope::sanitizer {

namespace {

constexpr FindingCode kCodes[] = {FindingCode::DeviceAssert, FindingCode::Deadlock,
                                  FindingCode::NotResident, FindingCode::GridTooLarge,
                                  FindingCode::UncheckedConfigs};

constexpr ObserverPlan kPlan = {
    .needs = {.accesses = RunNeeds::Accesses::Outside, .residency = true},
    .repeat = ObserverPlan::Repeat::Accepts,
    .takesAsserts = true,
    .takesDeadlocks = true};

class EventSanitizer : public Observer {
public:
  explicit EventSanitizer(FindingCollector &collector) : collector_(collector) {}

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override {
    launch_ = &launch;
    crowds_.clear();
  }
  void onLaunchEnd() override {
    if (!crowds_.empty())
      reportCrowd();
    crowds_.clear();
  }

  void onAssert(const FailedAssert &failed) override {
    collector_.add("device-assert " + placeKey(failed.op->location) + failed.message.str(),
                   {launch_->launchIndex, failed.program, failed.sequence, failed.lanes.front()},
                   static_cast<int64_t>(failed.lanes.size()),
                   [&] { return describeAssert(*launch_, failed); });
  }

  void onNotResident(const NotResident &crowd) override {
    const StuckProgram &first = crowd.waiting.front();
    crowds_.push_back({static_cast<int64_t>(crowd.waiting.size()),
                       describeNotResident(*launch_, crowd), first.program, waitedFor(first)});
  }

  void onDeadlock(llvm::ArrayRef<StuckProgram> stuck) override {
    crowds_.clear(); // it does not end here either
    for (const WaitingPlace &place : waitingPlaces(stuck)) {
      const std::string cause = "deadlock " + placeKey(stuck[place.programs.front()].op->location);
      for (const size_t number : place.programs)
        collector_.add(
            cause, {launch_->launchIndex, stuck[number].program, 0, 0}, 1,
            [&] { return describeDeadlock(*launch_, stuck, place); }, waitedFor(stuck[number]));
    }
  }

  void onEndlessLoop(const EndlessLoop &loop) override {
    collector_.add("deadlock " + placeKey(loop.op->location),
                   {launch_->launchIndex, loop.program, 0, 0}, 1,
                   [&] { return describeEndlessLoop(*launch_, loop); });
  }

private:
  /// Reports the first crowd that a GPU cannot hold, if there was one.
  void reportCrowd() {
    const interpreter::Residency most = residencyOf(*launch_);
    auto crowd =
        llvm::find_if(crowds_, [&](const Crowd &each) { return each.waiting >= most.programs; });
    if (crowd == crowds_.end())
      return;
    Finding &finding = crowd->finding;
    finding.message += most.programs == crowd->waiting ? ", as many as " : ", and ";
    finding.message += kResidencyGpus.str() + " holds ";
    if (most.programs != crowd->waiting)
      finding.message += std::to_string(most.programs) + " ";
    finding.message += "at a time" + (most.reason.empty() ? "" : " (" + most.reason + ")");
    collector_.add(
        "not-resident " + placeKey(finding.site.location),
        {launch_->launchIndex, crowd->program, 0, 0}, 1, [&] { return finding; }, crowd->elements);
  }

  FoundElements waitedFor(const StuckProgram &program) const {
    FoundElements elements;
    if (const Allocation *allocation = launch_->memory->find(program.address))
      elements.add(allocation->info, MemoryMap::offsetIn(*allocation, program.address), 1);
    return elements;
  }

  FindingCollector &collector_;
  const LaunchInfo *launch_ = nullptr;
  /// Programs that all waited at some moment, until it is known whether the launch ends.
  struct Crowd {
    int64_t waiting;
    Finding finding;
    int64_t program;
    FoundElements elements;
  };
  std::vector<Crowd> crowds_;
};

const Registration kRegistration({
    .name = "",
    .help =
        "failed asserts, programs that never end, or not on every GPU, grids that no GPU takes, "
        "and what was left unchecked",
    .codes = kCodes,
    .plan = kPlan,
    .isInEveryCheck = true,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<EventSanitizer>(context.collector);
    },
});

} // namespace

} // namespace blockscope::sanitizer
