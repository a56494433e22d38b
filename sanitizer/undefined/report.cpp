// The findings of `undefined`, and what the host does with memory.
#include "sanitizer/undefined/undefined_sanitizer.h"

#include "sanitizer/describe.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <iterator>

namespace blockscope::sanitizer {
namespace {

std::string messageOf(Use use, std::optional<AccessKind> access, const Trail &trail) {
  const auto of = [&] { return accessKindName(access.value_or(AccessKind::Load)).str(); };
  switch (use) {
  case Use::Address:
    return "the address of this " + of() + " is made of undefined data";
  case Use::Mask:
    return "the mask of this " + of() + " is made of undefined data";
  case Use::Way:
    return "which way the program goes here is decided by undefined data";
  case Use::Assert:
    return "this assert looks at undefined data";
  case Use::Print:
    return "this print shows undefined data";
  case Use::AtomicOperand:
    return "an operand of this atomic is undefined";
  case Use::AtomicMemory:
    return "this atomic combines its operand with memory that has no value";
  case Use::Store:
    return trail.isMixed ? "this store writes a result that undefined data went into"
                         : "this store writes undefined data";
  case Use::HostRead:
    return trail.allocation ? "the host reads undefined data that this store wrote"
                            : "the host reads an element that nobody has written";
  }
  return "";
}

std::string hintOf(const Trail &trail) {
  switch (trail.birth) {
  case Birth::MaskedLanes:
    return "if the load's mask is right, give the load an `other=`, or keep these lanes out with "
           "tl.where or the mask";
  case Birth::NeverWritten:
    return "fill the memory first (torch.zeros), or write every element that is read";
  }
  return "";
}

/// Where in a launch's argument an address of the host is, or was before it was put elsewhere.
int64_t offsetIn(const Allocation &argument, const UndefinedStorage &storage, uint64_t address) {
  const auto offset = static_cast<int64_t>(address - argument.address);
  return argument.inStorage(offset, 1)
             ? offset
             : static_cast<int64_t>(storage.before({address, 1}).address - argument.address);
}

} // namespace

void UndefinedSanitizer::report(const Found &found) {
  const Trail trail =
      found.trail ? *found.trail : origins_->trail(found.origin, found.op->location);
  const std::string cause = "undefined-value " + std::to_string(static_cast<int>(found.use)) + " " +
                            placeKey(found.op->location) + trail.key();
  // Source text may come from Python, which is not asked under the collector's lock.
  const int32_t column = found.use == Use::Way ? columnOfStatement(found.op->location) : 0;
  FoundElements elements = found.elements;
  if (trail.birth == Birth::NeverWritten)
    elements.add(loadedElements_);
  collector_.add(
      cause, {launch_->launchIndex, found.program, sequence_++, found.lane}, found.count,
      [&] {
        Finding finding = describe(found, trail);
        if (column)
          finding.site.location.column = column;
        return finding;
      },
      elements);
}

Finding UndefinedSanitizer::describe(const Found &found, const Trail &trail) const {
  Finding finding = beginFinding(FindingCode::UndefinedValue, *launch_);
  if (found.use == Use::Print)
    finding.severity = Severity::Warning;
  finding.message = messageOf(found.use, found.access, trail);
  finding.site.location = found.op->location;
  finding.site.location.variable.clear();
  Execution &ran = finding.site.execution.emplace();
  ran.access = found.access;
  ran.program = programIndex(found.program, launch_->grid);
  ran.loopIterations.assign(found.loopIterations.begin(), found.loopIterations.end());
  if (found.block) {
    ran.lane = found.lane;
    ran.blockShape.assign(found.block->shape.begin(), found.block->shape.end());
    ran.laneIndex = laneIndex(found.lane, found.block->shape);
    ran.accessBytes = found.block->isPointer() ? found.block->pointee().elementBytes()
                                               : found.block->elementBytes();
  }
  if (found.allocation)
    finding.element = describeElement(*found.allocation, found.offset);
  finding.values = trail.values;
  finding.related = trail.sites;
  finding.hint = hintOf(trail);
  return finding;
}

//===-- The host ------------------------------------------------------------------------------===//

void UndefinedSanitizer::onHostAllocation(const HostRange &storage, const SourceLocation &where) {
  if (storage.bytes == 0)
    return;
  auto trail = std::make_shared<Trail>();
  trail->birth = Birth::NeverWritten;
  trail->sites.push_back({SiteRole::AllocatedAt, where, std::nullopt});
  memory_.forget(storage.begin, storage.bytes);
  memory_.storage(storage.begin, storage.bytes)
      .undefine(storage.begin, storage.begin + storage.bytes, std::move(trail));
}

void UndefinedSanitizer::onHostFree(const HostRange &storage) {
  memory_.forget(storage.begin, storage.bytes);
}

bool UndefinedSanitizer::mayBeUndefined(const HostRange &storage) const {
  return !memory_.empty() && memory_.find(storage.begin) != nullptr;
}

void UndefinedSanitizer::onHostWrite(const HostElements &elements) {
  UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(elements.address);
  if (!storage)
    return;
  elements.forEachRun([&](uint64_t begin, uint64_t end) {
    if (storage->covers(begin, end))
      storage->define(begin, end);
    return false;
  });
}

// What no kernel has seen is no mistake of a kernel.
void UndefinedSanitizer::onHostRead(const HostElements &elements, const SourceLocation &where) {
  UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(elements.address);
  if (!storage || !storage->launch)
    return;
  std::optional<uint64_t> first;
  int64_t count = 0;
  const Allocation *argument = nullptr;
  FoundElements undefined;
  elements.forEachRun([&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end && storage->covers(begin, end);) {
      const std::optional<uint64_t> found = storage->firstUndefined(at, end);
      if (!found)
        break;
      if (!first) {
        first = found;
        const Trail &trail = *storage->trailAt(*first);
        argument = trail.allocation ? trail.allocation.get() : storage->argument.get();
      }
      ++count;
      const uint64_t next =
          begin + ((*found - begin) / elements.elementBytes + 1) * elements.elementBytes;
      const int64_t offset = offsetIn(*argument, *storage, *found);
      if (argument->inStorage(offset, 1)) // else it is nobody's of a launch
        undefined.add(argument->info, offset, static_cast<int64_t>(next - *found));
      at = next;
    }
    return false;
  });
  if (!first)
    return;
  const Trail trail = *storage->trailAt(*first);
  const std::string cause = "undefined-value host " + placeKey(where) + trail.key();
  const int64_t launch = (trail.launch ? trail.launch : storage->launch)->index;
  collector_.add(
      cause, {.launch = launch, .sequence = sequence_++}, count,
      [&] { return describeHostRead(*storage, trail, *first, where); }, undefined);
  onHostWrite(elements); // told once
}

Finding UndefinedSanitizer::describeHostRead(const UndefinedStorage &storage, const Trail &trail,
                                             uint64_t address, const SourceLocation &where) {
  Finding finding;
  finding.code = FindingCode::UndefinedValue;
  finding.message = messageOf(Use::HostRead, std::nullopt, trail);
  finding.values = trail.values;
  finding.hint = trail.launch || trail.birth != Birth::NeverWritten
                     ? hintOf(trail)
                     : "do the grid, the loop in the kernel and the store's mask reach all of the "
                       "tensor? If they need not, fill the memory first (torch.zeros)";
  finding.related = trail.sites;
  if (trail.launch) { // the store is the place
    finding.site = trail.sites.front();
    finding.site.role = SiteRole::Here;
    finding.related.front() = {SiteRole::ReadAt, where, std::nullopt};
  } else {
    finding.site.location = where;
  }
  finding.launch = trail.launch ? *trail.launch : *storage.launch;
  const Allocation &argument = trail.allocation ? *trail.allocation : *storage.argument;
  const int64_t offset = offsetIn(argument, storage, address);
  const int64_t bytes = argument.info.elementBytes;
  if (argument.inStorage(offset, 1)) // else it is nobody's of a launch
    finding.element =
        describeElement(argument, offset - (offset % bytes + bytes) % bytes); // rounded down
  return finding;
}

// Before a launch it is most likely given away to be filled.
void UndefinedSanitizer::onHostShare(const HostElements &elements, const SourceLocation &where) {
  const UndefinedStorage *storage = memory_.find(elements.address);
  if (storage && storage->launch)
    onHostRead(elements, where);
  onHostWrite(elements);
}

void UndefinedSanitizer::onHostCopy(const HostElements &from, const HostElements &to) {
  put(undefinedOf(from), to);
}

void UndefinedSanitizer::onHostCompute(llvm::ArrayRef<HostElements> from, const HostElements &to,
                                       const SourceLocation & /*where*/) {
  const auto isBefore = [](const auto &a, const auto &b) { return a.first < b.first; };
  HostUndefined undefined;
  for (const HostElements &elements : from) {
    const HostUndefined more = undefinedOf(elements), before = std::move(undefined);
    undefined = {};
    std::set_union(before.elements.begin(), before.elements.end(), more.elements.begin(),
                   more.elements.end(), std::back_inserter(undefined.elements), isBefore);
    undefined.seenAs(before);
    undefined.seenAs(more);
  }
  put(undefined, to);
}

void UndefinedSanitizer::onHostMove(llvm::ArrayRef<HostElements> from,
                                    llvm::ArrayRef<int64_t> numbers, const HostElements &to) {
  HostUndefined undefined;
  llvm::DenseMap<int64_t, HostElement> byNumber;
  int64_t before = 1;
  for (const HostElements &elements : from) {
    const HostUndefined here = undefinedOf(elements);
    for (const auto &[number, element] : here.elements)
      byNumber[before + static_cast<int64_t>(number)] = element;
    undefined.seenAs(here);
    before += static_cast<int64_t>(elements.count());
  }
  for (const auto &[place, number] : llvm::enumerate(numbers))
    if (const auto found = byNumber.find(number); found != byNumber.end())
      undefined.elements.emplace_back(place, found->second);
  put(undefined, to);
}

bool UndefinedSanitizer::isUndefined(const HostElements &elements) const {
  const UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(elements.address);
  bool isFound = false;
  if (storage)
    elements.forEachRun([&](uint64_t begin, uint64_t end) {
      return isFound = storage->covers(begin, end) && storage->firstUndefined(begin, end);
    });
  return isFound;
}

void UndefinedSanitizer::HostUndefined::seenAs(const HostUndefined &other) {
  if (!launch && !other.elements.empty()) {
    launch = other.launch;
    argument = other.argument;
  }
}

UndefinedSanitizer::HostUndefined UndefinedSanitizer::undefinedOf(const HostElements &elements) {
  HostUndefined undefined;
  UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(elements.address);
  if (!storage)
    return undefined;
  undefined.launch = storage->launch;
  undefined.argument = storage->argument;
  uint64_t number = 0;
  elements.forEachRun([&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; at += elements.elementBytes, ++number)
      if (storage->covers(at, at + elements.elementBytes))
        if (const auto found = storage->firstUndefined(at, at + elements.elementBytes))
          undefined.elements.emplace_back(
              number,
              HostElement{storage->trailAt(*found), storage->before({at, elements.elementBytes})});
    return false;
  });
  return undefined;
}

/// All other elements of `to` have a value.
void UndefinedSanitizer::put(const HostUndefined &undefined, const HostElements &to) {
  onHostWrite(to);
  if (undefined.elements.empty())
    return;
  UndefinedStorage &target = memory_.storage(to.storage.begin, to.storage.bytes);
  if (!target.launch) {
    target.launch = undefined.launch;
    target.argument = undefined.argument;
  }
  auto next = undefined.elements.begin();
  uint64_t number = 0;
  to.forEachRun([&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; at += to.elementBytes, ++number)
      if (next != undefined.elements.end() && next->first == number) {
        if (target.covers(at, at + to.elementBytes))
          target.undefine(at, at + to.elementBytes, next->second.trail, next->second.before);
        ++next;
      }
    return next == undefined.elements.end();
  });
}

} // namespace blockscope::sanitizer
