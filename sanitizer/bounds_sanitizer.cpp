// asan: every active lane's bytes against the exact extents of its tensor.
#include "sanitizer/sanitizer.h"

#include "llvm/Support/FormatVariadic.h"

#include <atomic>
#include <vector>

namespace blockscope::sanitizer {

namespace {

constexpr FindingCode kCodes[] = {
    FindingCode::OobLoad,          FindingCode::OobStore,     FindingCode::OobAtomic,
    FindingCode::OutsideView,      FindingCode::WildPointer,  FindingCode::NullPointer,
    FindingCode::MisalignedAccess, FindingCode::UseAfterFree, FindingCode::ReadOnlyStore};

constexpr ObserverPlan kPlan = {.needs = {.accesses = RunNeeds::Accesses::Outside},
                                .repeat = ObserverPlan::Repeat::Accepts,
                                .takesRefusedLanes = true};

/// From this iteration of a loop on, refused accesses are counted; as many of them end the launch.
constexpr int64_t kManyIterations = 16384;

constexpr llvm::StringLiteral kBoundsChoices[] = {"view", "storage"};
constexpr SanitizerOption kBounds = {"bounds", kBoundsChoices,
                                     "storage: allow what is outside a view"};

/// Reports lanes that the machine refused, and accepted ones that are outside the argument's view.
class BoundsSanitizer : public Observer {
public:
  /// `checkViews`: an access inside the storage but outside the view is an error too.
  BoundsSanitizer(FindingCollector &collector, bool checkViews)
      : collector_(collector), checkViews_(checkViews) {}

  ObserverPlan plan() const override { return kPlan; }
  void onLaunchBegin(const LaunchInfo &launch) override {
    launch_ = &launch;
    refusedLate_ = 0;
  }
  void onAccess(const Access &access) override;
  void onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane> lanes) override;
  void onLaunchEnd() override;

private:
  void reportOutsideView(const Access &access);
  std::string hintOfView(const TensorInfo &view) const;
  Finding describeOutsideView(const Access &access, const Allocation &allocation, int64_t lane,
                              int64_t offset, int64_t count) const;
  Finding describe(const Access &access, const RefusedGroup &group, size_t refused) const;
  /// Returns what an earlier launch had at an address that is no tensor any more.
  const TensorInfo *freedTensorAt(uint64_t address) const;

  struct Range {
    uint64_t begin, end;
    TensorInfo info;
  };

  FindingCollector &collector_;
  bool checkViews_;
  const LaunchInfo *launch_ = nullptr;
  std::atomic<int64_t> refusedLate_{0}; ///< accesses, in late iterations of loops
  std::vector<Range> earlier_;          ///< storages of earlier launches
};

void BoundsSanitizer::onAccess(const Access &access) {
  if (!checkViews_ || access.activeLanes == 0)
    return;
  if (const Allocation *allocation = access.allocation) {
    const bool inside = access.minOffset >= allocation->viewBegin &&
                        access.maxOffset + access.elementBytes <= allocation->viewEnd;
    if (inside && allocation->viewIsDense)
      return;
  }
  reportOutsideView(access);
}

void BoundsSanitizer::reportOutsideView(const Access &access) {
  int64_t firstLane = -1, count = 0, firstOffset = 0;
  const Allocation *firstAllocation = nullptr;
  for (int64_t lane = 0; lane < access.lanes; ++lane) {
    if (access.mask && !access.mask[lane])
      continue;
    const Allocation *allocation =
        access.allocation ? access.allocation : launch_->memory->find(access.addresses[lane]);
    if (!allocation)
      continue; // refused before
    const int64_t offset = MemoryMap::offsetIn(*allocation, access.addresses[lane]);
    if (!allocation->inStorage(offset, access.elementBytes) ||
        allocation->inView(offset, access.elementBytes))
      continue;
    if (count++ == 0) {
      firstLane = lane;
      firstOffset = offset;
      firstAllocation = allocation;
    }
  }
  if (count == 0)
    return;
  const std::string cause =
      "outside-view " + placeKey(access.op->location) + " " + firstAllocation->info.name;
  collector_.add(
      cause, {launch_->launchIndex, access.program, access.sequence, firstLane}, count,
      [&] { return describeOutsideView(access, *firstAllocation, firstLane, firstOffset, count); });
}

/// What may be wrong about the strides of a view that is not dense.
std::string BoundsSanitizer::hintOfView(const TensorInfo &view) const {
  std::string strides;
  bool isPassed = false;
  for (const auto &[size, stride] : llvm::zip_equal(view.shape, view.strides)) {
    strides += (strides.empty() ? "" : ", ") + std::to_string(stride);
    isPassed |= size > 1 && stride != 1 &&
                llvm::any_of(launch_->metaParameters, [&](const auto &parameter) {
                  return parameter.second == std::to_string(stride);
                });
  }
  if (isPassed)
    return "are the strides of this view passed and used in the right order?";
  return llvm::formatv("the strides of this view are [{0}], and no argument of the kernel has such "
                       "a value: pass them, or a contiguous copy of '{1}'",
                       strides, view.name);
}

Finding BoundsSanitizer::describeOutsideView(const Access &access, const Allocation &allocation,
                                             int64_t lane, int64_t offset, int64_t count) const {
  Finding finding = beginFinding(FindingCode::OutsideView, *launch_);
  finding.site = describeSite(access, *launch_, lane);
  finding.element = describeElement(allocation, offset);
  if (offset < allocation.viewBegin)
    finding.element->distanceBytes = offset - allocation.viewBegin;
  else if (offset + access.elementBytes > allocation.viewEnd)
    finding.element->distanceBytes = offset + access.elementBytes - allocation.viewEnd;
  finding.message =
      llvm::formatv(
          "{0} of {1} at byte {2} of '{3}' is outside the view that was passed, but inside "
          "the {4} bytes of its storage",
          accessKindName(access.kind), bytesText(access.elementBytes), offset, allocation.info.name,
          allocation.storageBytes)
          .str();
  finding.hint = allocation.viewIsDense
                     ? outOfBoundsHint(access, allocation, offset, count, access.mask)
                     : hintOfView(allocation.info);
  return finding;
}

void BoundsSanitizer::onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane> lanes) {
  for (const RefusedGroup &group : groupRefused(lanes)) {
    const RefusedLane &first = group.first;
    const std::string cause = (llvm::StringRef(codeText(refusedCode(access.kind, first.reason))) +
                               " " + placeKey(access.op->location) + " " +
                               (first.allocation ? first.allocation->info.name : ""))
                                  .str();
    collector_.add(cause, {launch_->launchIndex, access.program, access.sequence, first.lane},
                   group.count, [&] { return describe(access, group, lanes.size()); });
  }
  // A search that has passed the end of its table finds nothing there, and goes on for ever.
  const bool isLate =
      !access.loopIterations.empty() && access.loopIterations.back() >= kManyIterations;
  if (isLate && ++refusedLate_ >= kManyIterations)
    collector_.endLaunch();
}

Finding BoundsSanitizer::describe(const Access &access, const RefusedGroup &group,
                                  size_t refused) const {
  Finding finding = describeRefused(*launch_, access, group, refused);
  const TensorInfo *freed = group.first.reason == RefusedLane::Reason::Wild
                                ? freedTensorAt(group.first.address)
                                : nullptr;
  if (freed) {
    finding.code = FindingCode::UseAfterFree;
    finding.element.emplace().tensor = *freed;
    finding.message =
        llvm::formatv("{0} of {1} from memory of '{2}', which was freed",
                      accessKindName(access.kind), bytesText(access.elementBytes), freed->name)
            .str();
    finding.hint = "keep the tensor alive as long as its data_ptr() is in use";
  }
  return finding;
}

void BoundsSanitizer::onLaunchEnd() {
  // What was an argument once is remembered: a later pointer into it that no tensor holds any more
  // was freed. Ranges that are in use again drop out of the list.
  for (const auto &allocation : launch_->memory->arguments()) {
    const uint64_t begin =
        allocation->address - static_cast<uint64_t>(allocation->view - allocation->storage);
    const uint64_t end = begin + static_cast<uint64_t>(allocation->storageBytes);
    llvm::erase_if(earlier_,
                   [&](const Range &range) { return range.begin < end && begin < range.end; });
    if (begin != end)
      earlier_.push_back({begin, end, allocation->info});
  }
}

const TensorInfo *BoundsSanitizer::freedTensorAt(uint64_t address) const {
  for (const Range &range : earlier_)
    if (address >= range.begin && address < range.end)
      return &range.info;
  return nullptr;
}

// A refused access must not end the run of another check, so what the machine refuses is always
// watched; the views are left to who asks for this one.
const Registration kRegistration({
    .name = "asan",
    .help = "accesses outside a tensor, through a pointer that is none, or to memory that is gone",
    .codes = kCodes,
    .plan = kPlan,
    .isInEveryCheck = true,
    .options = kBounds,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      const bool checkViews = context.isNamed && context.choice(kBounds) == "view";
      return std::make_unique<BoundsSanitizer>(context.collector, checkViews);
    },
});

} // namespace

} // namespace blockscope::sanitizer
