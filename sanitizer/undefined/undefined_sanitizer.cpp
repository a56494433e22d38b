// The two runs of `undefined`: the screen of a trial, and the one that follows values.
#include "sanitizer/undefined/undefined_sanitizer.h"

#include "interpreter/evaluator.h"

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::UndefinedValue};

constexpr ObserverPlan kPlan = {.needs = {.runs = true, .values = true, .programOrder = true},
                                .repeat = ObserverPlan::Repeat::Asks,
                                .trialNeeds = {.runs = true}};

constexpr llvm::StringLiteral kStrictChoices[] = {"off", "on"};
constexpr SanitizerOption kStrict = {"init_strict", kStrictChoices,
                                     "find every store of undefined data"};

bool define(UndefinedStorage &storage, uint64_t begin, uint64_t end, int64_t /*lane*/) {
  storage.define(begin, end);
  return false;
}

} // namespace

ObserverPlan UndefinedSanitizer::plan() const { return kPlan; }

//===-- Launches ------------------------------------------------------------------------------===//

void UndefinedSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  isTrial_ = launch.isTrial;
  shadows_.clear();
  moves_.clear();
  origins_.emplace(launch);
  allocations_.clear();
  facts_ = std::make_shared<LaunchFacts>(
      LaunchFacts{launch.kernel, launch.grid, launch.metaParameters, launch.launchIndex});
  storages_.clear();
  hasSuspects_ = false;
  for (const auto &allocation : launch.memory->arguments()) {
    memory_.dropStale(storageBegin(*allocation), static_cast<uint64_t>(allocation->storageBytes));
    UndefinedStorage *storage = storageOf(*allocation);
    storages_.push_back(storage);
    if (storage) {
      storage->launch = facts_;
      storage->argument = kept(*allocation);
    }
    if (storage && isTrial_)
      storage->remember();
  }
}

void UndefinedSanitizer::onProgramBegin(int64_t /*program*/, int /*worker*/) {
  if (isTrial_) // it has neither, and all threads come here
    return;
  loadedElements_.clear();
  if (!launch_->mayWait) // of programs that wait, the values stay while others run
    shadows_.clear();
}

bool UndefinedSanitizer::mustRepeat() { return hasSuspects_; }

void UndefinedSanitizer::onLaunchRepeat() {
  for (UndefinedStorage *storage : storages_)
    if (storage)
      storage->revert();
}

void UndefinedSanitizer::onLaunchEnd() {
  for (UndefinedStorage *storage : storages_)
    if (storage)
      storage->forget();
  storages_.clear();
  shadows_.clear();
  origins_.reset();
}

std::shared_ptr<const Allocation> UndefinedSanitizer::kept(const Allocation &allocation) {
  std::shared_ptr<const Allocation> &kept = allocations_[&allocation];
  if (!kept)
    kept = std::make_shared<Allocation>(allocation);
  return kept;
}

UndefinedStorage *UndefinedSanitizer::storageOf(const Allocation &allocation) {
  return memory_.empty() ? nullptr : memory_.find(storageBegin(allocation));
}

UndefinedStorage *UndefinedSanitizer::storageIn(const Allocation &allocation) {
  const auto &arguments = launch_->memory->arguments();
  const bool isArgument =
      allocation.number < arguments.size() && arguments[allocation.number].get() == &allocation;
  return isTrial_ && isArgument ? storages_[allocation.number] : storageOf(allocation);
}

UndefinedStorage &UndefinedSanitizer::storageToMark(const Allocation &allocation) {
  UndefinedStorage &storage =
      memory_.storage(storageBegin(allocation), static_cast<uint64_t>(allocation.storageBytes));
  storage.launch = facts_;
  storage.argument = kept(allocation);
  return storage;
}

//===-- Memory --------------------------------------------------------------------------------===//

void UndefinedSanitizer::noteLoaded(const Access &access, const LoadedUndefined &lane) {
  loaded_.push_back(lane);
  if (access.allocation)
    loadedElements_.add(access.allocation->info,
                        static_cast<int64_t>(lane.address - access.allocation->address),
                        access.elementBytes);
}

void UndefinedSanitizer::onAccess(const Access &access) {
  if (isTrial_) {
    if (!hasSuspects_.load(std::memory_order_relaxed) && isSuspect(access))
      hasSuspects_.store(true, std::memory_order_relaxed);
    return;
  }
  loaded_.clear();
  if (access.kind == AccessKind::Load || access.kind == AccessKind::AtomicLoad)
    forEachRange(access, [&](UndefinedStorage &storage, uint64_t begin, uint64_t end,
                             int64_t lane) {
      for (uint64_t at = begin; at < end; at += static_cast<uint64_t>(access.elementBytes), ++lane)
        if (storage.firstUndefined(at, at + static_cast<uint64_t>(access.elementBytes)))
          noteLoaded(access, {lane, &storage, at});
      return false;
    });
  else if (access.kind == AccessKind::Store)
    forEachRange(access, define);
}

/// Calls `visit(storage, begin, end, lane)` for the bytes of each run of lanes that lie in storages
/// with undefined bytes, or once had some; stops where it says true.
void UndefinedSanitizer::forEachRange(
    const Access &access,
    llvm::function_ref<bool(UndefinedStorage &, uint64_t, uint64_t, int64_t)> visit) {
  if (memory_.empty())
    return;
  for (const AccessRun &run : access.runs) {
    const Allocation *allocation =
        access.allocation ? access.allocation : launch_->memory->find(run.address);
    UndefinedStorage *storage = storageIn(*allocation);
    if (!storage)
      continue;
    const uint64_t first = realAddress(*allocation, MemoryMap::offsetIn(*allocation, run.address));
    const bool isDense = run.strideBytes == access.elementBytes;
    for (int64_t i = 0; i < (isDense ? 1 : run.count); ++i) {
      const uint64_t begin = first + static_cast<uint64_t>(i * run.strideBytes);
      const auto bytes = static_cast<uint64_t>(access.elementBytes * (isDense ? run.count : 1));
      const bool isWanted = storage->covers(begin, begin + bytes);
      if (isWanted && visit(*storage, begin, begin + bytes, run.firstLane + i))
        return;
    }
  }
}

/// Whether a load gives anybody what has no value.
bool UndefinedSanitizer::isSuspect(const Access &access) {
  if (access.op->leavesLanesUndefined && access.activeLanes < access.lanes)
    return true;
  if (access.kind == AccessKind::Store || access.kind == AccessKind::AtomicStore) {
    forEachRange(access, define);
    return false;
  }
  bool isUndefined = false;
  forEachRange(access, [&](UndefinedStorage &storage, uint64_t begin, uint64_t end, int64_t) {
    return isUndefined = storage.firstUndefined(begin, end).has_value();
  });
  return isUndefined;
}

//===-- The run that follows values -----------------------------------------------------------===//

void UndefinedSanitizer::onValues(const OpValues &values) {
  if (isTrial_)
    return;
  llvm::StringRef name = values.signature->name;
  if (!name.consume_front("tl."))
    return followOp(values, shadows_, *origins_, moves_);
  if (name == "load" || name == "atomic_load")
    return load(values, name != "load");
  if (name == "store")
    return store(values);
  if (name == "atomic_rmw")
    return combine(values, 2);
  if (name == "atomic_cas")
    return combine(values, 3);
  if (name == "atomic_store")
    return combine(values, 2);
  if (name == "assert")
    return observe(values, Use::Assert);
  if (name == "print")
    return observe(values, Use::Print);
  followOp(values, shadows_, *origins_, moves_);
}

void UndefinedSanitizer::onMove(const ValueMove &move) {
  if (!shadows_.empty())
    shadows_.move(move.from, move.to);
}

void UndefinedSanitizer::onDecision(const ValueDecision &decision) {
  if (shadows_.empty())
    return;
  // A loop that begins has no iteration yet.
  const auto around = decision.op->name == "scf.for" ? decision.loopIterations.drop_back()
                                                     : decision.loopIterations;
  for (const ValueView &value : decision.values)
    if (const OriginId origin = ShadowedView(value, shadows_).origin(0))
      return report({.use = Use::Way,
                     .op = decision.op,
                     .program = decision.program,
                     .loopIterations = around,
                     .block = nullptr,
                     .access = std::nullopt,
                     .count = 1,
                     .origin = origin});
}

namespace {

const Registration kRegistration({
    .name = "undefined",
    .alias = "init",
    .help = "what nobody gave a value, where it decides something or the host reads it",
    .codes = kCodes,
    .plan = kPlan,
    .options = kStrict,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      auto made =
          std::make_unique<UndefinedSanitizer>(context.collector, context.choice(kStrict) == "on");
      context.hostWatchers.push_back(made.get());
      return made;
    },
});

} // namespace

} // namespace blockscope::sanitizer
