// What loads, stores, atomics, asserts and prints do with shadows.
#include "sanitizer/undefined/undefined_sanitizer.h"

#include "interpreter/evaluator.h"

namespace blockscope::sanitizer {

/// Reports active lanes whose address or mask is undefined. Of a lane whose mask is, nobody knows
/// whether it is active: its address is left alone.
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
    const auto isLeftAlone = [&](int64_t lane) {
      return !lanes.isActive(lane) ||
             (lanes.mask() && ShadowedView(*lanes.mask(), shadows_).origin(lane) != kDefined);
    };
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      const OriginId origin = shadowed.origin(lane);
      if (origin == kDefined || (use == Use::Address && isLeftAlone(lane)))
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
  const bool hasOther = !isAtomic && attributes.getBool("has_other");
  const AccessLanes lanes(values, *launch_->memory);
  if (lanes.isAll && loaded_.empty() && shadows_.empty())
    return;
  checkAddresses(values, lanes, accessKindOf(values.signature->name));
  const bool isOtherDefined =
      isAtomic || (hasOther && ShadowedView(values.operands[2], shadows_).isDefined());
  auto [first, last] = isOtherDefined ? std::pair(lanes.count, int64_t{0}) : lanes.inactive();
  for (const LoadedUndefined &each : loaded_) {
    first = std::min(first, each.lane);
    last = std::max(last, each.lane + 1);
  }
  const ValueView &result = values.results[0];
  if (first >= last)
    return shadows_.define(result.data);
  Shadow shadow = Shadow::of(first, last);
  shadow.bits.resize(shadow.origins.size());
  takeFromMemory(values, shadow);
  if (!isOtherDefined)
    leaveOut(values, lanes, hasOther, shadow);
  shadows_.set(result.data, std::move(shadow));
}

/// The undefined bytes that a load has read.
void UndefinedSanitizer::takeFromMemory(const OpValues &load, Shadow &shadow) {
  const int elementBytes = load.results[0].type->elementBytes();
  const uint64_t allBits = ShadowedView(load.results[0], shadows_).mask();
  for (const LoadedUndefined &each : loaded_)
    for (int byte = 0; byte < elementBytes; ++byte)
      if (each.storage->firstUndefined(each.address + byte, each.address + byte + 1)) {
        if (shadow.origin(each.lane) == kDefined)
          shadow.origin(each.lane) =
              origins_->fromMemory(*load.op, each.storage->trailAt(each.address + byte));
        shadow.undefinedBits(each.lane) |= uint64_t{0xff} << (8 * byte) & allBits;
      }
}

/// The lanes that the mask of a load leaves out: those of `other`, or born here.
void UndefinedSanitizer::leaveOut(const OpValues &load, const AccessLanes &lanes, bool hasOther,
                                  Shadow &shadow) {
  const auto [first, last] = lanes.inactive();
  if (first >= last)
    return;
  OriginId born = kDefined;
  if (!hasOther) {
    int64_t count = 0;
    for (int64_t lane = first; lane < last; ++lane)
      count += !lanes.isActive(lane);
    born = origins_->bornInLoad(load, first, last - 1, count);
  }
  const uint64_t allBits = ShadowedView(load.results[0], shadows_).mask();
  for (int64_t lane = first; lane < last; ++lane) {
    if (lanes.isActive(lane))
      continue;
    const ShadowedView other(load.operands[hasOther ? 2 : 0], shadows_);
    shadow.origin(lane) = hasOther ? other.origin(lane) : born;
    shadow.undefinedBits(lane) = hasOther ? other.undefinedBits(lane) : allBits;
  }
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
  AccessLanes lanes(values, *launch_->memory);
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
      found.elements.add(allocation->info, offset, lanes.elementBytes);
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
void UndefinedSanitizer::combine(const OpValues &values, size_t numOperands) {
  const AccessKind kind = accessKindOf(values.signature->name);
  AccessLanes lanes(values, *launch_->memory);
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
      if (const OriginId origin = ShadowedView(values.operands[k], shadows_).origin(lane)) {
        if (operand.count++ == 0) {
          operand.lane = lane;
          operand.origin = origin;
          operand.allocation = allocation;
          operand.offset = offset;
        }
        operand.elements.add(allocation->info, offset, lanes.elementBytes);
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
    } else if (reads) {
      if (memory.count++ == 0) {
        memory.lane = lane;
        memory.trail = trail;
        memory.allocation = allocation;
        memory.offset = offset;
      }
      memory.elements.add(allocation->info, offset, lanes.elementBytes);
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

} // namespace blockscope::sanitizer
