// The two runs of `undefined`: the screen of a trial, and what each memory op does with shadows.
#include "sanitizer/undefined/undefined_sanitizer.h"

#include "interpreter/evaluator.h"

#include <cstring>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::UndefinedValue};

constexpr ObserverPlan kPlan = {.needs = {.runs = true, .values = true, .programOrder = true},
                                .repeat = ObserverPlan::Repeat::Asks,
                                .trialNeeds = {.runs = true}};

constexpr llvm::StringLiteral kStrictChoices[] = {"off", "on"};
constexpr SanitizerOption kStrict = {"init_strict", kStrictChoices,
                                     "find every store of undefined data"};

uint64_t realAddress(const Allocation &allocation, int64_t offset) {
  return allocation.address + static_cast<uint64_t>(offset);
}

uint64_t storageBegin(const Allocation &allocation) {
  return allocation.address - static_cast<uint64_t>(allocation.view - allocation.storage);
}

bool define(UndefinedStorage &storage, uint64_t begin, uint64_t end, int64_t /*lane*/) {
  storage.define(begin, end);
  return false;
}

AccessKind kindOf(llvm::StringRef name) {
  return name == "tl.load"           ? AccessKind::Load
         : name == "tl.store"        ? AccessKind::Store
         : name == "tl.atomic_load"  ? AccessKind::AtomicLoad
         : name == "tl.atomic_store" ? AccessKind::AtomicStore
         : name == "tl.atomic_cas"   ? AccessKind::AtomicCas
                                     : AccessKind::AtomicRmw;
}

} // namespace

/// The lanes of one access: which are active, and where they are.
class UndefinedSanitizer::AccessLanes {
public:
  AccessLanes(const OpValues &values, const MemoryMap &memory, int mask)
      : memory_(memory), pointers_(values.operands[0]),
        mask_(mask < 0 ? nullptr : &values.operands[static_cast<size_t>(mask)]) {
    const Type &pointer = *pointers_.type;
    count = pointer.numElements();
    elementBytes = pointer.pointee().elementBytes();
    isAll = !mask_ || !std::memchr(mask_->data, 0, static_cast<size_t>(elementsOf(*mask_, count)));
  }

  bool isActive(int64_t lane) const {
    return isAll || static_cast<const uint8_t *>(mask_->data)[isOne(*mask_) ? 0 : lane] != 0;
  }
  const ValueView &pointers() const { return pointers_; }
  const ValueView *mask() const { return mask_; }

  /// Where an active lane is; null when it is in no storage (the access was refused).
  const Allocation *at(int64_t lane, int64_t &offset) {
    const DeviceAddress address =
        static_cast<const DeviceAddress *>(pointers_.data)[isOne(pointers_) ? 0 : lane];
    const bool isSame =
        last_ && hasProvenance(address) && ((address ^ last_->base) >> kAllocationShift) == 0;
    const Allocation *found = isSame ? last_ : memory_.find(address);
    if (!found)
      return nullptr;
    last_ = found;
    offset = MemoryMap::offsetIn(*found, address);
    return found->inStorage(offset, elementBytes) ? found : nullptr;
  }

  int64_t count;
  int elementBytes;
  bool isAll;

private:
  static bool isOne(const ValueView &view) { return view.extent == ValueView::Extent::One; }

  const MemoryMap &memory_;
  const ValueView &pointers_;
  const ValueView *mask_;
  const Allocation *last_ = nullptr;
};

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
  // Of programs that wait, the values stay while others run.
  if (!isTrial_ && !launch_->mayWait)
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
          loaded_.push_back({lane, &storage, at});
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
  llvm::StringRef name = values.signature->name;
  if (!name.consume_front("tl."))
    return followOp(values, shadows_, *origins_, moves_);
  if (name == "load" || name == "atomic_load")
    return load(values, name != "load");
  if (name == "store")
    return store(values);
  if (name == "atomic_rmw")
    return combine(values, 2, values.operands.size() > 2 ? 2 : -1);
  if (name == "atomic_cas")
    return combine(values, 3, -1);
  if (name == "atomic_store")
    return combine(values, 2, values.operands.size() > 2 ? 2 : -1);
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

/// Reports active lanes whose address or mask is undefined.
void UndefinedSanitizer::checkAddresses(const OpValues &values, const AccessLanes &lanes,
                                        AccessKind kind) {
  if (shadows_.empty())
    return;
  for (const Use use : {Use::Mask, Use::Address}) {
    const ValueView *view = use == Use::Mask ? lanes.mask() : &lanes.pointers();
    if (!view)
      continue;
    const ShadowedView shadowed(*view, shadows_);
    if (shadowed.isDefined())
      continue;
    Found found{.use = use,
                .op = values.op,
                .program = values.program,
                .loopIterations = values.loopIterations,
                .block = lanes.pointers().type,
                .access = kind};
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      const OriginId origin = shadowed.origin(lane);
      if (origin == kDefined || (use == Use::Address && !lanes.isActive(lane)))
        continue;
      if (found.count++ == 0) {
        found.lane = lane;
        found.origin = origin;
      }
    }
    if (found.count)
      report(found);
  }
}

void UndefinedSanitizer::load(const OpValues &values, bool isAtomic) {
  const Attributes &attributes = values.signature->attributes;
  const bool hasMask = isAtomic ? values.operands.size() > 1 : attributes.getBool("has_mask");
  const bool hasOther = !isAtomic && attributes.getBool("has_other");
  const AccessLanes lanes(values, *launch_->memory, hasMask ? 1 : -1);
  if (lanes.isAll && loaded_.empty() && shadows_.empty())
    return;
  checkAddresses(values, lanes, kindOf(values.signature->name));
  const ValueView &result = values.results[0];
  const uint64_t allBits = ShadowedView(result, shadows_).mask();
  Shadow shadow;
  if (lanes.isAll && loaded_.empty()) {
    shadows_.define(result.data);
    return;
  }
  shadow = Shadow::of(0, lanes.count);
  shadow.bits.resize(shadow.origins.size());
  for (const LoadedUndefined &each : loaded_)
    for (int byte = 0; byte < lanes.elementBytes; ++byte)
      if (each.storage->firstUndefined(each.address + byte, each.address + byte + 1)) {
        if (shadow.origin(each.lane) == kDefined)
          shadow.origin(each.lane) =
              origins_->fromMemory(*values.op, each.storage->trailAt(each.address + byte));
        shadow.undefinedBits(each.lane) |= uint64_t{0xff} << (8 * byte) & allBits;
      }
  int64_t first = -1, last = -1, count = 0;
  for (int64_t lane = 0; lane < lanes.count && !lanes.isAll; ++lane) {
    if (lanes.isActive(lane))
      continue;
    if (hasOther) {
      const ShadowedView other(values.operands[2], shadows_);
      shadow.origin(lane) = other.origin(lane);
      shadow.undefinedBits(lane) = other.undefinedBits(lane);
    } else if (!isAtomic) { // an atomic gives 0
      first = count++ == 0 ? lane : first;
      last = lane;
    }
  }
  if (count) {
    const OriginId born = origins_->bornInLoad(values, first, last, count);
    for (int64_t lane = first; lane <= last; ++lane)
      if (!lanes.isActive(lane)) {
        shadow.origin(lane) = born;
        shadow.undefinedBits(lane) = allBits;
      }
  }
  shadows_.set(result.data, std::move(shadow));
}

std::shared_ptr<const Trail> UndefinedSanitizer::storedTrail(const OpValues &values, int64_t lane,
                                                             OriginId origin,
                                                             const Allocation &allocation) {
  auto trail = std::make_shared<Trail>(origins_->trail(origin, values.op->location));
  Site site;
  site.role = SiteRole::Through;
  site.location = values.op->location;
  site.location.variable.clear();
  Execution &ran = site.execution.emplace();
  ran.access = AccessKind::Store;
  ran.program = programIndex(values.program, launch_->grid);
  ran.lane = lane;
  const Type &block = *values.operands[0].type;
  ran.blockShape.assign(block.shape.begin(), block.shape.end());
  ran.laneIndex = laneIndex(lane, block.shape);
  ran.loopIterations.assign(values.loopIterations.begin(), values.loopIterations.end());
  ran.accessBytes = block.pointee().elementBytes();
  trail->sites.insert(trail->sites.begin(), std::move(site));
  trail->launch = facts_;
  trail->allocation = kept(allocation);
  return trail;
}

void UndefinedSanitizer::store(const OpValues &values) {
  AccessLanes lanes(values, *launch_->memory, values.operands.size() > 2 ? 2 : -1);
  if (shadows_.empty())
    return;
  checkAddresses(values, lanes, AccessKind::Store);
  const ShadowedView stored(values.operands[1], shadows_);
  if (stored.isDefined())
    return;
  Found found{.use = Use::Store,
              .op = values.op,
              .program = values.program,
              .loopIterations = values.loopIterations,
              .block = values.operands[0].type,
              .access = AccessKind::Store};
  OriginId lastOrigin = kDefined;
  std::shared_ptr<const Trail> trail;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    const OriginId origin = stored.origin(lane);
    int64_t offset = 0;
    const Allocation *allocation =
        origin != kDefined && lanes.isActive(lane) ? lanes.at(lane, offset) : nullptr;
    if (!allocation)
      continue;
    const uint64_t address = realAddress(*allocation, offset);
    if (isStrict_ || origins_->isMixed(origin)) {
      if (found.count++ == 0) {
        found.lane = lane;
        found.origin = origin;
        found.allocation = allocation;
        found.offset = offset;
      }
      continue; // told once
    }
    UndefinedStorage &storage = storageToMark(*allocation);
    if (origin != lastOrigin && !storage.isFull())
      trail = storedTrail(values, lane, lastOrigin = origin, *allocation);
    const uint64_t bits = stored.undefinedBits(lane);
    for (int byte = 0; byte < lanes.elementBytes; ++byte)
      if (bits >> (8 * byte) & 0xff)
        storage.undefine(address + byte, address + byte + 1, trail);
  }
  if (found.count)
    report(found);
}

/// Atomics with an operand. What they find in memory decides what they leave there, but for an
/// exchange.
void UndefinedSanitizer::combine(const OpValues &values, size_t numOperands, int mask) {
  const AccessKind kind = kindOf(values.signature->name);
  AccessLanes lanes(values, *launch_->memory, mask);
  if (!values.results.empty())
    shadows_.define(values.results[0].data);
  if (memory_.empty() && shadows_.empty())
    return;
  checkAddresses(values, lanes, kind);
  Found operand{.use = Use::AtomicOperand,
                .op = values.op,
                .program = values.program,
                .loopIterations = values.loopIterations,
                .block = values.operands[0].type,
                .access = kind};
  Found memory = operand;
  memory.use = Use::AtomicMemory;
  const bool reads = kind != AccessKind::AtomicStore;
  const bool isExchange = values.signature->attributes.getString("kind") == "xchg";
  Shadow old = Shadow::of(0, lanes.count);
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    int64_t offset = 0;
    const Allocation *allocation = lanes.isActive(lane) ? lanes.at(lane, offset) : nullptr;
    if (!allocation)
      continue;
    for (size_t k = 1; k < numOperands; ++k)
      if (const OriginId origin = ShadowedView(values.operands[k], shadows_).origin(lane))
        if (operand.count++ == 0) {
          operand.lane = lane;
          operand.origin = origin;
          operand.allocation = allocation;
          operand.offset = offset;
        }
    UndefinedStorage *storage = storageOf(*allocation);
    if (!storage)
      continue;
    const uint64_t address = realAddress(*allocation, offset), end = address + lanes.elementBytes;
    const std::optional<uint64_t> undefined = storage->firstUndefined(address, end);
    if (!undefined)
      continue;
    const std::shared_ptr<const Trail> &trail = storage->trailAt(*undefined);
    if (isExchange) {
      old.origin(lane) = origins_->fromMemory(*values.op, trail);
    } else if (reads && memory.count++ == 0) {
      memory.lane = lane;
      memory.trail = trail;
      memory.allocation = allocation;
      memory.offset = offset;
    }
    storage->define(address, end);
  }
  for (const Found &found : {operand, memory})
    if (found.count)
      report(found);
  if (!values.results.empty())
    shadows_.set(values.results[0].data, std::move(old));
}

/// An assert's condition, or all that a print shows.
void UndefinedSanitizer::observe(const OpValues &values, Use use) {
  if (shadows_.empty() || values.operands.empty())
    return;
  const bool hasMask = use == Use::Assert && values.signature->attributes.getBool("has_mask");
  const size_t looked = use == Use::Assert ? 1 : values.operands.size();
  for (const ValueView &operand : values.operands.take_front(looked)) {
    const ShadowedView shadowed(operand, shadows_);
    Found found{.use = use,
                .op = values.op,
                .program = values.program,
                .loopIterations = values.loopIterations,
                .block = operand.type,
                .access = std::nullopt};
    const int64_t count = shadowed.isDefined() ? 0 : operand.type->numElements();
    for (int64_t lane = 0; lane < count; ++lane) {
      const OriginId origin = shadowed.origin(lane);
      const bool isOff = hasMask && ShadowedView(values.operands[1], shadows_).value(lane) == 0;
      if (origin != kDefined && !isOff && found.count++ == 0) {
        found.lane = lane;
        found.origin = origin;
      }
    }
    if (found.count)
      return report(found);
  }
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
