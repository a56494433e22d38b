// Puts programs that never end into words: what each waits for, and who has it.
#include "interpreter/describe.h"
#include "interpreter/residency.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace blockscope::interpreter {
namespace {

AccessKind waitingKind(const OpInfo *op) {
  if (op && op->name == "tl.atomic_cas")
    return AccessKind::AtomicCas;
  if (op && op->name == "tl.atomic_load")
    return AccessKind::AtomicLoad;
  return op && op->name == "tl.atomic_rmw" ? AccessKind::AtomicRmw : AccessKind::Load;
}

/// "'lock_ptr'[0]", what a stuck program waits for.
std::string elementName(const LaunchInfo &launch, const StuckProgram &stuck) {
  const DeviceAddress address = stuck.address;
  if (address == 0 && stuck.isPlainLoad)
    return "what it loads";
  const Allocation *allocation = launch.memory->find(address);
  if (!allocation)
    return llvm::formatv("address {0:x}", address);
  const auto index = allocation->elementIndex(MemoryMap::offsetIn(*allocation, address));
  const auto texts = llvm::map_range(index, [](int64_t at) { return std::to_string(at); });
  const std::string first = "'" + allocation->info.name + "'[" + llvm::join(texts, ", ") + "]";
  return stuck.lanes == 1
             ? first
             : llvm::formatv("{0} or what another of {1} lanes looks at", first, stuck.lanes).str();
}

/// The programs of a deadlock, and who waits for whom.
class Waiters {
public:
  Waiters(const LaunchInfo &launch, llvm::ArrayRef<StuckProgram> stuck)
      : launch_(launch), stuck_(stuck) {}

  /// The first program, those that one after the other have what the one before waits for, then
  /// others; the first few of them.
  WaitingFacts factsFrom(size_t first) const {
    constexpr size_t kMostListed = 8;
    WaitingFacts facts;
    facts.programs = static_cast<int64_t>(stuck_.size());
    llvm::SmallVector<size_t> order;
    llvm::DenseSet<size_t> known;
    std::optional<size_t> next = first;
    for (; next && known.insert(*next).second; next = holderOf(*next))
      order.push_back(*next);
    if (next == first && order.size() > 1)
      facts.circle = static_cast<int64_t>(order.size());
    for (size_t i = 0; i < stuck_.size() && order.size() < kMostListed; ++i)
      if (known.insert(i).second)
        order.push_back(i);
    for (const size_t i : llvm::ArrayRef(order).take_front(kMostListed))
      facts.waits.push_back(waitOf(stuck_[i]));
    return facts;
  }

private:
  static bool isTaken(const StuckProgram &stuck) {
    return stuck.change &&
           (stuck.change->kind == AccessKind::AtomicCas || (stuck.change->isSwap && stuck.isSwap));
  }
  std::optional<size_t> find(int64_t program) const {
    const auto *found = llvm::lower_bound(
        stuck_, program, [](const StuckProgram &each, int64_t at) { return each.program < at; });
    if (found == stuck_.end() || found->program != program)
      return std::nullopt;
    return found - stuck_.begin();
  }
  /// The waiting program that holds the lock that this one waits for.
  std::optional<size_t> holderOf(size_t i) const {
    return isTaken(stuck_[i]) ? find(stuck_[i].change->program) : std::nullopt;
  }
  Wait waitOf(const StuckProgram &stuck) const {
    Wait wait;
    wait.program = programIndex(stuck.program, launch_.grid);
    if (stuck.op)
      wait.location = stuck.op->location;
    wait.element = elementName(launch_, stuck);
    wait.isUntouched = stuck.isUntouched;
    if (const Allocation *allocation =
            stuck.lanes == 1 ? launch_.memory->find(stuck.address) : nullptr;
        allocation && allocation->inStorage(MemoryMap::offsetIn(*allocation, stuck.address),
                                            allocation->info.elementBytes))
      wait.value =
          valueText(allocation->hostAt(MemoryMap::offsetIn(*allocation, stuck.address)),
                    static_cast<int>(allocation->info.elementBytes), allocation->info.dtype);
    if (!stuck.change)
      return wait;
    Holder &holder = wait.holder.emplace();
    holder.program = programIndex(stuck.change->program, launch_.grid);
    holder.state = stuck.change->program == stuck.program ? Holder::State::Itself
                   : find(stuck.change->program)          ? Holder::State::Waits
                                                          : Holder::State::Ended;
    if (stuck.change->op)
      holder.location = stuck.change->op->location;
    holder.hasTaken = isTaken(stuck);
    return wait;
  }

  const LaunchInfo &launch_;
  llvm::ArrayRef<StuckProgram> stuck_;
};

/// Where what a program waits for was changed last.
Site changeSite(const LaunchInfo &launch, const Change &change, const Allocation *allocation) {
  Site site = describeSite(change.op, change.program, launch, {});
  site.role = SiteRole::ChangedAt;
  site.execution->access = change.kind;
  site.execution->accessBytes = change.elementBytes;
  const std::string dtype =
      allocation ? allocation->info.dtype : std::string(dtypeName(change.dtype));
  site.execution->value = valueText(&change.before, change.elementBytes, dtype) + " -> " +
                          valueText(&change.after, change.elementBytes, dtype);
  return site;
}

/// Who has what the first program waits for, as a part of the message.
std::string holderClause(const LaunchInfo &launch, const WaitingFacts &facts) {
  const Wait &wait = facts.waits.front();
  if (wait.isUntouched)
    return ", which no program of this launch has changed";
  if (!wait.holder)
    return "";
  const std::string program =
      "program " + blockscope::programName(wait.holder->program, launch.grid);
  const std::string did = wait.holder->hasTaken ? ", taken by " : ", last changed by ";
  if (facts.circle == 2)
    return did + program + ", which waits for this one";
  if (facts.circle > 2)
    return llvm::formatv("{0}{1}, in a circle of {2} programs that wait for one another", did,
                         program, facts.circle);
  switch (wait.holder->state) {
  case Holder::State::Ended:
    return did + program + ", which has ended";
  case Holder::State::Waits:
    return did + program + ", which waits, too";
  case Holder::State::Itself:
    return did + "itself";
  }
  return "";
}

std::string deadlockHint(const LaunchInfo &launch, const StuckProgram &first,
                         const WaitingFacts &facts) {
  if (first.isPlainLoad)
    return "does an iteration change what the loop's condition depends on? to wait for another "
           "program, use an atomic: a plain load may be done once, before the loop";
  const Wait &wait = facts.waits.front();
  if (wait.isUntouched)
    return first.isSwap ? "was it free before the launch? an earlier launch may have left it taken"
                        : "which program is to change it, and does it get there?";
  if (!wait.holder)
    return "who releases this? look for a lock that is taken twice, taken in another order "
           "elsewhere, or never released";
  if (!wait.holder->hasTaken)
    return "which program is to change it next, and does it get there?";
  if (facts.circle != 0)
    return "take locks in the same order in all programs";
  switch (wait.holder->state) {
  case Holder::State::Ended:
    return "give a lock back on every way out of what it guards";
  case Holder::State::Waits:
    return "see what program " + blockscope::programName(wait.holder->program, launch.grid) +
           " waits for: it does not get as far as giving this back";
  case Holder::State::Itself:
    return "a program cannot take a lock that it has: is it given back before?";
  }
  return "";
}

} // namespace

std::vector<WaitingPlace> waitingPlaces(llvm::ArrayRef<StuckProgram> stuck) {
  std::vector<WaitingPlace> places;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < stuck.size(); ++i) {
    const std::string key = stuck[i].op ? placeKey(stuck[i].op->location) : "";
    const auto [place, isNew] = known.try_emplace(key, places.size());
    if (isNew)
      places.emplace_back();
    places[place->second].programs.push_back(i);
  }
  return places;
}

Finding describeDeadlock(const LaunchInfo &launch, llvm::ArrayRef<StuckProgram> stuck,
                         const WaitingPlace &place) {
  const StuckProgram &first = stuck[place.programs.front()];
  Finding finding = beginFinding(FindingCode::Deadlock, launch);
  finding.site = describeSite(first.op, first.program, launch, first.loopIterations);
  finding.site.execution->access = waitingKind(first.op);
  const Allocation *allocation = launch.memory->find(first.address);
  if (allocation)
    finding.element = describeElement(*allocation, MemoryMap::offsetIn(*allocation, first.address));
  finding.waiting = Waiters(launch, stuck).factsFrom(place.programs.front());
  if (first.change)
    finding.related.push_back(changeSite(launch, *first.change, allocation));
  const std::string element = elementName(launch, first);
  const std::string does =
      first.isPlainLoad
          ? "never leaves this loop while " + element + " stays as it is"
          : "waits here for ever for " + element + holderClause(launch, *finding.waiting);
  const std::string others =
      stuck.size() == 1
          ? "no other program is left, and no memory changes"
          : llvm::formatv("all {0} live programs only spin and no memory changes", stuck.size())
                .str();
  finding.message =
      "program " + programName(first.program, launch.grid) + " " + does + ": " + others;
  finding.hint = deadlockHint(launch, first, *finding.waiting);
  finding.count = finding.programCount = static_cast<int64_t>(place.programs.size());
  return finding;
}

Finding describeNotResident(const LaunchInfo &launch, const NotResident &crowd) {
  const StuckProgram &first = crowd.waiting.front();
  Finding finding = beginFinding(FindingCode::NotResident, launch);
  finding.site = describeSite(first.op, first.program, launch, first.loopIterations);
  finding.site.execution->access = waitingKind(first.op);
  if (const Allocation *allocation = launch.memory->find(first.address))
    finding.element = describeElement(*allocation, MemoryMap::offsetIn(*allocation, first.address));
  finding.waiting = Waiters(launch, crowd.waiting).factsFrom(0);
  finding.message =
      llvm::formatv(
          "program {0} waits here for {1} at least until program {2} begins, which it may "
          "never do on a GPU: {3} programs wait",
          programName(first.program, launch.grid), elementName(launch, first),
          programName(crowd.next, launch.grid), crowd.waiting.size())
          .str();
  finding.hint = "launch no more programs than a GPU holds, and let each do its work in a loop; or "
                 "let programs wait only for those with lower numbers";
  return finding;
}

Finding describeEndlessLoop(const LaunchInfo &launch, const EndlessLoop &loop) {
  Finding finding = beginFinding(FindingCode::Deadlock, launch);
  finding.site = describeSite(loop.op, loop.program, launch, loop.loopIterations);
  if (loop.bounds && loop.op->name == "scf.while") {
    finding.message = llvm::formatv("this loop never ends: it counts in steps of {0}, and never "
                                    "comes to {1}",
                                    loop.bounds->step, loop.bounds->end);
    finding.hint = "compare by '<' or '>', or let the end be a number of whole steps";
  } else if (loop.bounds) {
    finding.message = llvm::formatv("a loop from {0} to {1} with step {2} never ends",
                                    loop.bounds->begin, loop.bounds->end, loop.bounds->step);
  } else {
    finding.message = "this loop never ends: nothing that its condition depends on changes";
    finding.hint = "does an iteration change what the condition looks at?";
  }
  return finding;
}

} // namespace blockscope::interpreter
