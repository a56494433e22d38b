// Describes races: both sides in full.
#include "sanitizer/describe.h"
#include "sanitizer/race/race_sanitizer.h"
#include "sanitizer/race/race_state.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscope::sanitizer {

namespace {

/// Returns "load", "store", "atomic" for messages.
std::string nameOf(AccessKind kind) { return accessKindName(kind).str(); }

/// False when the lanes are known to be disjoint: a box, or runs or lanes at rising addresses.
bool mayShareBytes(const Access &access) {
  if (!access.addresses || access.activeLanes < 2)
    return false;
  const auto size = static_cast<DeviceAddress>(access.elementBytes);
  DeviceAddress end = 0;
  for (const AccessRun &run : access.runs) {
    if (run.address < end || (run.count > 1 && run.strideBytes < access.elementBytes))
      return true;
    end = run.address + static_cast<DeviceAddress>((run.count - 1) * run.strideBytes) + size;
  }
  for (int64_t lane = 0; access.runs.empty() && lane < access.lanes; ++lane) {
    if (access.mask && !access.mask[lane])
      continue;
    if (access.addresses[lane] < end)
      return true;
    end = access.addresses[lane] + size;
  }
  return false;
}

FoundElements elementsOf(const Allocation &allocation, uint64_t host, int bytes) {
  FoundElements found;
  found.add(allocation.info,
            static_cast<int64_t>(host - reinterpret_cast<uint64_t>(allocation.view)), bytes);
  return found;
}

} // namespace

Site RaceSanitizer::describeOp(SiteRole role, const OpFacts &op, int64_t program,
                               int64_t lane) const {
  Site site{role, op.info->location, Execution()};
  Execution &ran = *site.execution;
  ran.access = op.kind;
  ran.program = programIndex(program, launch_->grid);
  ran.blockShape = op.blockShape;
  ran.lane = lane;
  ran.laneIndex = laneIndex(lane, op.blockShape);
  ran.accessBytes = op.elementBytes;
  ran.semantics = op.semantics;
  return site;
}

/// Returns an element as "flag_ptr[3]".
static std::string nameOfElement(const Allocation &allocation, uint64_t host) {
  const auto offset = static_cast<int64_t>(host - reinterpret_cast<uint64_t>(allocation.view));
  std::string index;
  for (const int64_t each : allocation.elementIndex(offset))
    index += (index.empty() ? "" : ", ") + std::to_string(each);
  return allocation.info.name + "[" + index + "]";
}

/// What is to be said of the flags by which the program that comes later means to wait.
std::string RaceSanitizer::flagHint(int64_t program, const AccessRecord &earlier,
                                    uint64_t host) const {
  const auto reader = static_cast<uint32_t>(program);
  if (const auto flag = unheededFlags_.find(reader);
      flag != unheededFlags_.end() && flag->second.host != host &&
      graph_.isReleasedAt(flag->second.host, earlier.program, earlier.epoch))
    return llvm::formatv("program {0} does the same whatever its atomic reads from '{1}', so it "
                         "need not come behind the release: wait for the value, or test it",
                         programName(program, launch_->grid),
                         nameOfElement(*flag->second.allocation, flag->second.host))
        .str();
  // A program that waits for a flag does not wait where the launch begins with it set.
  if (const auto flag = staleFlags_.find(reader); flag != staleFlags_.end())
    return llvm::formatv("'{0}' had the value that program {1} waits for when the launch began, so "
                         "it need not wait: reset it before each launch",
                         nameOfElement(*flag->second.allocation, flag->second.host),
                         programName(program, launch_->grid))
        .str();
  return "";
}

void RaceSanitizer::report(const Conflict &context, const AccessRecord &earlier, Shared shared) {
  const SeenAccess &access = context.access;
  const OpFacts &ours = factsOf(access.op), &theirs = factsOf(earlier.op);
  // An atomic that only counts, or adds up, is not there to order anything.
  const bool synchronises =
      access.isAtomic || isAtomic(theirs.kind) || llvm::any_of(ops_, [](const auto &known) {
        const OpFacts &op = known.second;
        const llvm::StringRef semantics = op.semantics; // "acq_rel" is what nobody chose
        return isAtomic(op.kind) &&
               (op.info->resultUse == ResultUse::Decides || semantics.starts_with("release") ||
                semantics.starts_with("acquire"));
      });
  const bool bothWrite = writesMemory(access.kind) && writesMemory(theirs.kind);
  const int size = access.elementBytes;
  const int64_t elements = std::max(1, shared.bytes / size);
  int64_t shift = 0; // to the first element whose values differ
  bool sameValue = false;
  if (access.kind == AccessKind::Store && theirs.kind == AccessKind::Store && shared.values &&
      earlier.elementBytes == size) {
    const int64_t compared = std::min(size, shared.bytes);
    while (shift < elements &&
           std::memcmp(shared.values + shift * size, shared.written + shift * size, compared) == 0)
      ++shift;
    sameValue = shift == elements;
    if (sameValue)
      shift = 0;
  }
  const uint64_t host = shared.host + static_cast<uint64_t>(shift * size);
  const int64_t lane = shared.lane + shift;
  const std::byte *values = shared.values ? shared.values + shift * size : nullptr;
  const std::byte *written = shared.written + shift * size;
  const FindingCode code = sameValue   ? FindingCode::RaceSameValue
                           : bothWrite ? FindingCode::RaceWriteWrite
                                       : FindingCode::RaceReadWrite;
  const std::string cause =
      (llvm::StringRef(codeText(code)) + " " + placeKey(ours.info->location) + " / " +
       placeKey(theirs.info->location) + " " + context.allocation.info.name)
          .str();
  collector_.add(
      cause, {launch_->launchIndex, context.program, access.sequence, lane}, elements,
      [&] {
        Finding finding = beginFinding(code, *launch_);
        Site here = describeOp(SiteRole::Here, ours, context.program, lane);
        Site other = describeOp(SiteRole::OtherSide, theirs, earlier.program,
                                earlier.lane + shift * earlier.laneStep);
        const int64_t offset =
            static_cast<int64_t>(host - reinterpret_cast<uint64_t>(context.allocation.view));
        finding.element = describeElement(context.allocation, offset);
        const std::string &dtype = context.allocation.info.dtype;
        if (values)
          here.execution->value = valueText(values, size, dtype);
        if (values && theirs.kind == AccessKind::Store && earlier.elementBytes == size)
          other.execution->value = valueText(written, size, dtype);
        finding.site = std::move(here);
        finding.related = {std::move(other)};
        const std::string verb = sameValue   ? "both write the same value to"
                                 : bothWrite ? "both write"
                                             : "access";
        finding.message =
            llvm::formatv("programs {0} and {1} {2} '{3}' at byte {4} with no order between them "
                          "({5} here, {6} there)",
                          programName(context.program, launch_->grid),
                          programName(earlier.program, launch_->grid), verb,
                          context.allocation.info.name, offset, nameOf(access.kind),
                          nameOf(theirs.kind))
                .str();
        const bool hasCta = access.isAtomic && access.scope == AtomicScope::Cta;
        const bool theirCta = isAtomic(theirs.kind) && theirs.scope == AtomicScope::Cta;
        if (hasCta || theirCta)
          finding.hint = "scope 'cta' never orders two programs: use scope='gpu'";
        else if (sameValue)
          finding.hint =
              "harmless only if it is meant: should one program write it, or the grid be smaller?";
        else if (std::string flag = flagHint(context.program, earlier, host); !flag.empty())
          finding.hint = std::move(flag);
        else if ((access.isAtomic && !isAtomic(access.kind)) || theirs.semantics == "volatile")
          finding.hint =
              "a volatile load waits for nobody: read what another launch wrote, or let the writer "
              "release and the reader acquire by atomics";
        else if (synchronises)
          finding.hint =
              "the atomics of this kernel do not order these two: the first must stand before a "
              "release, the second behind an acquire of the same address (sem='acq_rel' is both)";
        else if (bothWrite)
          finding.hint = "give each program its own elements, or combine with tl.atomic_add";
        else
          finding.hint =
              "programs run in any order: read what another launch wrote, or use atomics";
        return finding;
      },
      elementsOf(context.allocation, shared.host, shared.bytes));
}

/// The facts that both findings of the warp model share.
Finding RaceSanitizer::describeWarpOrder(const Conflict &context, const AccessRecord &earlier,
                                         uint64_t host, int64_t lane) {
  const OpFacts &ours = factsOf(context.access.op), &theirs = factsOf(earlier.op);
  Finding finding = beginFinding(FindingCode::RaceWarpOrder, *launch_);
  finding.model = "warp";
  finding.site = describeOp(SiteRole::Here, ours, context.program, lane);
  finding.related = {describeOp(SiteRole::OtherSide, theirs, earlier.program, earlier.lane)};
  finding.element = describeElement(
      context.allocation,
      static_cast<int64_t>(host - reinterpret_cast<uint64_t>(context.allocation.view)));
  return finding;
}

void RaceSanitizer::reportWarpOrder(const Conflict &context, const AccessRecord &earlier,
                                    Shared shared) {
  const OpFacts &ours = factsOf(context.access.op), &theirs = factsOf(earlier.op);
  // A store that overtakes loads is one cause, however many they are.
  const std::string cause =
      "race-warp-order " + placeKey(ours.info->location) +
      (writesMemory(theirs.kind) ? " / " + placeKey(theirs.info->location) : "");
  collector_.add(
      cause, {launch_->launchIndex, context.program, context.access.sequence, shared.lane},
      std::max(1, shared.bytes / context.access.elementBytes),
      [&] {
        Finding finding = describeWarpOrder(context, earlier, shared.host, shared.lane);
        const std::string later =
            context.access.lanes > 1
                ? llvm::formatv("lane {0} of this {1}", shared.lane, nameOf(ours.kind)).str()
                : "this " + nameOf(ours.kind) + " of one element";
        const std::string before =
            earlier.laneStep == 1
                ? llvm::formatv("lane {0} of an earlier {1}", earlier.lane, nameOf(theirs.kind))
                      .str()
                : "an earlier " + nameOf(theirs.kind) + " of one element";
        finding.message = later +
                          (writesMemory(theirs.kind) ? " touches what " + before + " wrote"
                                                     : " overwrites what " + before + " reads") +
                          ", with no barrier between them";
        finding.hint = "put tl.debug_barrier() between them: lanes may be in different warps";
        return finding;
      },
      elementsOf(context.allocation, shared.host, shared.bytes));
}

void RaceSanitizer::reportEarlyRelease(const Conflict &context, const AccessRecord &earlier,
                                       Shared shared) {
  const OpFacts &ours = factsOf(context.access.op), &theirs = factsOf(earlier.op);
  // One cause however many places feel it: the store that lacks its barrier.
  const std::string cause = "race-warp-order release " + placeKey(theirs.info->location);
  collector_.add(
      cause, {launch_->launchIndex, context.program, context.access.sequence, shared.lane},
      std::max(1, shared.bytes / context.access.elementBytes),
      [&] {
        Finding finding = describeWarpOrder(context, earlier, shared.host, shared.lane);
        finding.message =
            llvm::formatv("this {0} may come before all warps of program {1} have stored: that "
                          "program releases after its {2} with no barrier between the two",
                          nameOf(ours.kind), programName(earlier.program, launch_->grid),
                          nameOf(theirs.kind))
                .str();
        finding.hint = "put tl.debug_barrier() between the " + nameOf(theirs.kind) +
                       " and the atomic that releases";
        return finding;
      },
      elementsOf(context.allocation, shared.host, shared.bytes));
}

void RaceSanitizer::checkDuplicates(const Access &access) {
  if (!mayShareBytes(access) || !access.values || access.valuesAreScalar)
    return;
  const int size = access.elementBytes;
  const auto *values = static_cast<const std::byte *>(access.values);
  llvm::DenseMap<DeviceAddress, int64_t> firstLane;
  int64_t count = 0, lane = -1, other = -1;
  llvm::SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < access.lanes; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    const auto [known, isNew] = firstLane.try_emplace(access.addresses[i], i);
    if (isNew || std::memcmp(values + known->second * size, values + i * size, size) == 0)
      continue;
    lanes.push_back(i);
    if (count++ == 0) {
      lane = i;
      other = known->second;
    }
  }
  if (count == 0)
    return;
  const Allocation *allocation = launch_->memory->find(access.addresses[lane]);
  if (!allocation)
    return;
  FoundElements elements;
  for (const int64_t each : lanes)
    if (launch_->memory->find(access.addresses[each]) == allocation)
      elements.add(allocation->info, MemoryMap::offsetIn(*allocation, access.addresses[each]),
                   size);
  const std::string cause =
      "duplicate-store " + placeKey(access.op->location) + " " + allocation->info.name;
  collector_.add(
      cause, {launch_->launchIndex, access.program, access.sequence, lane}, count,
      [&] {
        Finding finding = beginFinding(FindingCode::DuplicateStore, *launch_);
        const auto site = [&](SiteRole role, int64_t at) {
          Site site = describeSite(access, *launch_, at);
          site.role = role;
          site.execution->value = valueText(values + at * size, size, allocation->info.dtype);
          return site;
        };
        finding.site = site(SiteRole::Here, lane);
        finding.related = {site(SiteRole::OtherSide, other)};
        const int64_t offset = MemoryMap::offsetIn(*allocation, access.addresses[lane]);
        finding.element = describeElement(*allocation, offset);
        finding.message = llvm::formatv("lanes {0} and {1} of one store write different values to "
                                        "byte {2} of '{3}': which one stays is undefined",
                                        other, lane, offset, allocation->info.name)
                              .str();
        finding.hint =
            "give each lane its own element, mask all but one, or combine with an atomic";
        return finding;
      },
      elements);
}

} // namespace blockscope::sanitizer
