// Keeps clocks, and checks every run of an access against the shadow of the bytes it touches.
#include "sanitizer/race/race_sanitizer.h"

#include "sanitizer/describe.h"
#include "sanitizer/race/race_state.h"
#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscope::sanitizer {

namespace {

bool acquires(AtomicSemantics semantics) {
  return semantics == AtomicSemantics::Acquire || semantics == AtomicSemantics::AcquireRelease;
}

/// Whether all warps have come to an access before any of them goes on: one thread does an atomic
/// of one element, and the others get its result behind a barrier.
bool bringsWarpsTogether(const Access &access) {
  return isAtomic(access.kind) && access.blockShape.empty() &&
         access.op->resultUse != ResultUse::None;
}

bool releases(AtomicSemantics semantics) {
  return semantics == AtomicSemantics::Release || semantics == AtomicSemantics::AcquireRelease;
}

} // namespace

RaceSanitizer::RaceSanitizer(FindingCollector &collector) : collector_(collector) {}
RaceSanitizer::~RaceSanitizer() = default;

void RaceSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  hasAtomics_ = launch.hasAtomics;
  hasOneWarp_ =
      llvm::is_contained(launch.metaParameters, NamedValues::value_type("num_warps", "1"));
  readsCount_ = WarpOrder::readsCountIn(launch);
  screen_.reset();
  if (launch.isTrial)
    screen_ = std::make_unique<RaceScreen>(launch);
  shadow_.clear();
  ops_.clear();
  states_.clear();
  graph_.clear();
  knownOps_.clear();
  flags_.clear();
  staleFlags_.clear();
  unheededFlags_.clear();
}

RaceSanitizer::ProgramState &RaceSanitizer::state(int64_t program) {
  std::unique_ptr<ProgramState> &state = states_[program];
  if (!state)
    state = std::make_unique<ProgramState>();
  return *state;
}

void RaceSanitizer::onBarrier(int64_t program, int worker) {
  if (screen_)
    screen_->onBarrier(worker);
  else
    state(program).passBarrier();
}

/// Behind a fence every atomic store releases what came before it, and what atomics have read
/// before a fence is acquired by it.
void RaceSanitizer::onFence(int64_t program) {
  if (screen_)
    return;
  ProgramState &fenced = state(program);
  graph_.acquireAllAsLooked(static_cast<uint32_t>(program));
  fenced.fenceEpoch = fenced.epoch++;
}

RaceSanitizer::SeenAccess RaceSanitizer::summarise(const Access &access) {
  SeenAccess seen;
  seen.op = access.op->id;
  seen.kind = access.kind;
  seen.semantics = access.semantics;
  seen.scope = access.scope;
  seen.resultUse = access.op->resultUse;
  // A volatile load takes part in synchronisation, but orders nothing: like a relaxed atomic.
  seen.isAtomic = isAtomic(access.kind) || access.isVolatile;
  seen.elementBytes = access.elementBytes;
  seen.lanes = access.lanes;
  seen.sequence = access.sequence;
  seen.allocation = access.allocation;
  seen.runs = access.runs;
  if (access.kind == AccessKind::Store && access.values) {
    seen.values = static_cast<const std::byte *>(access.values);
    if (access.valuesAreScalar && access.lanes > 1) {
      copies_.clear();
      for (int64_t lane = 0; lane < access.lanes; ++lane)
        copies_.insert(copies_.end(), seen.values, seen.values + access.elementBytes);
      seen.values = copies_.data();
    }
  }
  noteOp(access);
  return seen;
}

void RaceSanitizer::noteOp(const Access &access) {
  if (access.op->id < knownOps_.size() && knownOps_.test(access.op->id))
    return;
  if (access.op->id >= knownOps_.size())
    knownOps_.resize(access.op->id + 64);
  knownOps_.set(access.op->id);
  OpFacts &facts = ops_[access.op->id];
  facts.info = access.op;
  facts.kind = access.kind;
  facts.blockShape.assign(access.blockShape.begin(), access.blockShape.end());
  facts.semantics = semanticsText(access);
  facts.scope = access.scope;
  facts.elementBytes = access.elementBytes;
}

const RaceSanitizer::OpFacts &RaceSanitizer::factsOf(uint32_t op) { return ops_[op]; }

void RaceSanitizer::onAccess(const Access &access) {
  if (access.kind == AccessKind::Store)
    checkDuplicates(access);
  if (screen_)
    return screen_->onAccess(access);
  // Nothing conflicts with loads of what the kernel cannot store to.
  if (access.kind == AccessKind::Load && access.allocation && !access.allocation->mayBeStored)
    return;
  if (isAtomic(access.kind) && launch_->mayWait && access.values)
    noteFlags(access);
  ProgramState &program = state(access.program);
  analyse(access.program, program, summarise(access));
  if (bringsWarpsTogether(access))
    program.passBarrier();
}

void RaceSanitizer::onProgramEnd(int64_t program, int worker) {
  if (screen_)
    screen_->onProgramEnd(worker);
  else
    states_.erase(program);
}

bool RaceSanitizer::mustRepeat() { return screen_ && screen_->hasSuspects(); }

void RaceSanitizer::onLaunchEnd() {
  screen_.reset();
  states_.clear();
  shadow_.clear();
  graph_.clear();
}

void RaceSanitizer::analyse(int64_t program, ProgramState &state, const SeenAccess &access) {
  for (const AccessRun &run : access.runs) {
    const Allocation *allocation =
        access.allocation ? access.allocation : launch_->memory->find(run.address);
    if (!allocation)
      continue;
    // The access itself comes before its acquire: an atomic is not ordered after a plain store to
    // the same bytes by the value that it happens to read in this order of execution.
    analyseRun(program, state, access, run, *allocation);
    if (access.isAtomic)
      synchronise(program, access, run, *allocation);
  }
  const bool isRelease = releases(access.semantics);
  if (isAtomic(access.kind) && writesMemory(access.kind) && access.scope != AtomicScope::Cta &&
      (isRelease || state.fenceEpoch != 0)) {
    const uint32_t epoch = isRelease ? state.epoch : state.fenceEpoch;
    for (const AccessRun &run : access.runs) {
      const Allocation *allocation =
          access.allocation ? access.allocation : launch_->memory->find(run.address);
      if (!allocation)
        continue;
      const int64_t offset = MemoryMap::offsetIn(*allocation, run.address);
      for (int64_t k = 0; k < run.count; ++k) {
        const auto host =
            reinterpret_cast<uint64_t>(allocation->hostAt(offset + k * run.strideBytes));
        graph_.release(static_cast<uint32_t>(program), host, epoch,
                       std::min(epoch, state.barrierEpoch));
      }
    }
    if (isRelease)
      ++state.epoch;
  }
  state.afterLast = access.sequence + 1;
}

/// An acquire orders what follows by the value that it reads. Where the program does the same
/// whatever it reads, it may as well come before the release; only what it saw there earlier, and
/// heeded, is certain.
void RaceSanitizer::synchronise(int64_t program, const SeenAccess &access, const AccessRun &run,
                                const Allocation &allocation) {
  const bool isAcquire =
      isAtomic(access.kind) && access.scope != AtomicScope::Cta && acquires(access.semantics);
  const bool decides = access.resultUse == ResultUse::Decides;
  if (!isAcquire && !decides)
    return;
  const auto reader = static_cast<uint32_t>(program);
  const int64_t offset = MemoryMap::offsetIn(allocation, run.address);
  for (int64_t k = 0; k < run.count; ++k) {
    const auto host = reinterpret_cast<uint64_t>(allocation.hostAt(offset + k * run.strideBytes));
    if (!decides) {
      if (!graph_.acquireAsLooked(reader, host))
        unheededFlags_[reader] = {&allocation, host};
    } else if (!mayBeStale(program, host, allocation)) {
      if (const auto stale = staleFlags_.find(reader);
          stale != staleFlags_.end() && stale->second.host == host)
        staleFlags_.erase(stale); // it has waited
      isAcquire ? graph_.acquire(reader, host) : graph_.look(reader, host);
    }
  }
}

/// Whether a plain store of this launch has written a byte.
bool RaceSanitizer::wasStored(uint64_t host) {
  const auto at = static_cast<int>(host % ShadowPage::kBytes);
  return llvm::any_of(shadow_.pageAt(host).segments(), [&](const ShadowSegment &segment) {
    return segment.begin <= at && at < segment.end && segment.cell.write.exists();
  });
}

/// Keeps what atomics find and leave in memory, which already has their effect.
void RaceSanitizer::noteFlags(const Access &access) {
  const auto *found = static_cast<const std::byte *>(access.values);
  const auto bytes = std::min<size_t>(static_cast<size_t>(access.elementBytes), sizeof(uint64_t));
  const uint32_t epoch = state(access.program).epoch;
  for (const AccessRun &run : access.runs) {
    const Allocation *allocation =
        access.allocation ? access.allocation : launch_->memory->find(run.address);
    if (!allocation)
      continue;
    const int64_t offset = MemoryMap::offsetIn(*allocation, run.address);
    for (int64_t k = 0; k < run.count; ++k) {
      const std::byte *host = allocation->hostAt(offset + k * run.strideBytes);
      uint64_t before = 0, after = 0;
      const int64_t lane = access.valuesAreScalar ? 0 : run.firstLane + k;
      std::memcpy(&after, host, bytes);
      std::memcpy(&before, found + lane * access.elementBytes, bytes);
      if (access.kind == AccessKind::AtomicStore)
        std::swap(before, after); // it has no effect yet
      const auto [known, isNew] = flags_.try_emplace(reinterpret_cast<uint64_t>(host));
      Flag &flag = known->second;
      if (isNew) {
        flag.first = before;
        flag.isStored = wasStored(reinterpret_cast<uint64_t>(host));
      }
      flag.isSame = !flag.isStored && before == flag.first && after == flag.first;
      if (!flag.hasChanged && (after != flag.first || before != flag.first)) {
        flag.hasChanged = true;
        flag.program = static_cast<uint32_t>(access.program);
        flag.epoch = epoch;
      }
    }
  }
}

/// Whether the value that an atomic has just read may be what the launch began with: then nothing
/// that was released there need have come before it.
bool RaceSanitizer::mayBeStale(int64_t program, uint64_t host, const Allocation &allocation) {
  const auto found = flags_.find(host);
  if (found == flags_.end() || !found->second.isSame)
    return false;
  const Flag &flag = found->second;
  const auto reader = static_cast<uint32_t>(program);
  if (flag.hasChanged && (flag.program == reader || graph_.sees(reader, flag.program, flag.epoch)))
    return false;
  staleFlags_[reader] = {&allocation, host};
  return true;
}

void RaceSanitizer::analyseRun(int64_t program, ProgramState &state, const SeenAccess &access,
                               const AccessRun &run, const Allocation &allocation) {
  const Conflict context{program, state, access, allocation};
  const int64_t offset = MemoryMap::offsetIn(allocation, run.address);
  const int size = access.elementBytes;
  const auto valueOf = [&](int64_t lane) {
    return access.values ? access.values + lane * size : nullptr;
  };
  if (run.strideBytes == size) {
    analyseSpan(context, reinterpret_cast<uint64_t>(allocation.hostAt(offset)),
                static_cast<int>(run.count * size), run.firstLane, valueOf(run.firstLane));
    return;
  }
  for (int64_t k = 0; k < run.count; ++k)
    analyseSpan(context,
                reinterpret_cast<uint64_t>(allocation.hostAt(offset + k * run.strideBytes)), size,
                run.firstLane + k, valueOf(run.firstLane + k));
}

void RaceSanitizer::analyseSpan(const Conflict &context, uint64_t host, int bytes, int64_t lane,
                                const std::byte *values) {
  const int size = context.access.elementBytes;
  while (bytes > 0) {
    ShadowPage &page = shadow_.pageAt(host);
    const int begin = static_cast<int>(host % ShadowPage::kBytes);
    const int count = std::min(bytes, ShadowPage::kBytes - begin);
    // Without atomics memory still holds what was stored last.
    std::byte *kept = hasAtomics_ && values ? shadow_.writtenForStore() : page.written();
    const std::byte *written = kept ? kept + begin : nullptr;
    if (!hasAtomics_)
      written = reinterpret_cast<const std::byte *>(host);
    page.touch(begin, begin + count, [&](ShadowCell &cell, int from, int to) {
      const int skipped = from - begin;
      touchCell(context, cell, host + static_cast<uint64_t>(skipped), to - from,
                lane + skipped / size, values ? values + skipped : nullptr,
                written ? written + skipped : nullptr);
    });
    if (values) {
      if (hasAtomics_)
        std::memcpy(kept + begin, values, static_cast<size_t>(count));
      values += count;
    }
    host += static_cast<uint64_t>(count);
    lane += count / size;
    bytes -= count;
  }
}

bool RaceSanitizer::happensBefore(const AccessRecord &earlier, const Conflict &context) {
  if (earlier.program == context.program)
    return true;
  return hasAtomics_ && earlier.epoch != 0 &&
         graph_.sees(static_cast<uint32_t>(context.program), earlier.program, earlier.epoch);
}

/// Whether a release ordered an earlier block store, or block atomic, of another program although
/// no barrier stood between the two: other warps of that program may write later than the one that
/// released.
bool RaceSanitizer::missesBarrier(const AccessRecord &earlier, const Conflict &context) {
  return hasAtomics_ && earlier.program != context.program && earlier.laneStep == 1 &&
         !graph_.seesInWarps(static_cast<uint32_t>(context.program), earlier.program,
                             earlier.epoch);
}

/// Whether the access may come, in some warp, before an earlier one of its own program in another.
/// One thread writes for an access of one element, and every warp loads for itself: of two such
/// accesses the first warp sees what it needs. A volatile load may be one of many.
bool RaceSanitizer::missesBarrierInside(const AccessRecord &earlier, const Conflict &context,
                                        int64_t lane) {
  const SeenAccess &access = context.access;
  const bool mayPoll = access.isAtomic && !isAtomic(access.kind);
  return earlier.program == context.program && earlier.lane != lane && !mayPoll &&
         (access.lanes > 1 || earlier.laneStep == 1) &&
         earlier.sequence != static_cast<uint32_t>(access.sequence) &&
         earlier.sequence >= context.state.visibleBefore;
}

void RaceSanitizer::touchCell(const Conflict &context, ShadowCell &cell, uint64_t host, int bytes,
                              int64_t lane, const std::byte *values, const std::byte *written) {
  const SeenAccess &access = context.access;
  const bool writes = writesMemory(access.kind);
  const auto check = [&](const AccessRecord &earlier) {
    const bool races = earlier.exists() && !happensBefore(earlier, context);
    if (races)
      report(context, earlier, {host, bytes, lane, values, written});
    return races;
  };
  const auto checkAtomics = [&](bool isWriter) { // a volatile load is no conflict for a load
    for (const AccessRecord &atomic : {cell.atomic, cell.otherAtomic})
      if (atomic.exists() && (isWriter || writesMemory(factsOf(atomic.op).kind)) && check(atomic))
        return;
  };
  const auto checkWarps = [&](const AccessRecord &earlier) {
    if (!earlier.exists() || hasOneWarp_)
      return;
    if (missesBarrierInside(earlier, context, lane))
      reportWarpOrder(context, earlier, {host, bytes, lane, values, written});
    else if (missesBarrier(earlier, context) && happensBefore(earlier, context))
      reportEarlyRelease(context, earlier, {host, bytes, lane, values, written});
  };
  check(cell.write);
  checkWarps(cell.write);
  for (const AccessRecord &atomic : {cell.atomic, cell.otherAtomic}) // they exclude each other
    if (!access.isAtomic && atomic.exists() && writesMemory(factsOf(atomic.op).kind))
      checkWarps(atomic);
  if (readsCount_ && access.kind == AccessKind::Store)
    for (const AccessRecord &read : {cell.read, cell.otherRead})
      if (read.program == context.program)
        checkWarps(read);
  if (writes && !access.isAtomic) {
    check(cell.read);
    check(cell.otherRead);
    checkAtomics(true);
  } else if (access.isAtomic) {
    if (writes) {
      check(cell.read);
      check(cell.otherRead);
    }
    // Atomics exclude each other unless one of them does not reach the other's program.
    if (cell.atomic.exists() &&
        (access.scope == AtomicScope::Cta || cell.atomic.elementBytes != access.elementBytes ||
         factsOf(cell.atomic.op).scope == AtomicScope::Cta) &&
        (writes || writesMemory(factsOf(cell.atomic.op).kind)))
      check(cell.atomic);
  } else {
    checkAtomics(false);
  }
  const AccessRecord record{
      static_cast<uint32_t>(context.program),
      context.state.epoch,
      access.op,
      static_cast<uint32_t>(access.sequence),
      static_cast<int32_t>(lane),
      static_cast<int16_t>(access.elementBytes),
      static_cast<int16_t>(access.lanes > 1 ? 1 : 0),
      static_cast<int16_t>(host % static_cast<unsigned>(access.elementBytes))};
  if (access.isAtomic) {
    if (writes || !cell.atomic.exists()) { // a read does not hide an earlier write
      if (cell.atomic.exists() && cell.atomic.program != record.program)
        cell.otherAtomic = cell.atomic;
      cell.atomic = record;
    }
  } else if (writes) {
    cell.write = record;
    if (!hasAtomics_)
      cell.read = cell.otherRead = AccessRecord();
  } else if (!cell.read.exists() || cell.read.program == record.program) {
    if (readsCount_ && missesBarrierInside(cell.read, context, lane) &&
        (!cell.otherRead.exists() || cell.otherRead.program == record.program))
      cell.otherRead = cell.read; // in other lanes
    cell.read = record;
  } else if (!cell.otherRead.exists() || cell.otherRead.program == record.program ||
             happensBefore(cell.otherRead, context)) {
    cell.otherRead = record;
  }
}

namespace {

constexpr FindingCode kCodes[] = {FindingCode::RaceWriteWrite, FindingCode::RaceReadWrite,
                                  FindingCode::RaceSameValue, FindingCode::RaceWarpOrder,
                                  FindingCode::DuplicateStore};

const Registration kRegistration({
    .name = "tsan",
    .help = "accesses of two programs, warps or lanes to one address that nothing orders",
    .codes = kCodes,
    .plan = RaceSanitizer::kPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      return std::make_unique<RaceSanitizer>(context.collector);
    },
});

} // namespace

} // namespace blockscope::sanitizer
