// What a launch writes, and what the host does with the rest.
#include "sanitizer/outputs/outputs_sanitizer.h"

#include "interpreter/flat/flat_program.h"
#include "sanitizer/race/footprint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

namespace blockscope::sanitizer {
namespace {

constexpr FindingCode kCodes[] = {FindingCode::NeverWritten, FindingCode::WrittenTwice,
                                  FindingCode::NotIdempotent};

constexpr ObserverPlan kPlan = {.needs = {.program = true},
                                .repeat = ObserverPlan::Repeat::Asks,
                                .trialNeeds = {.program = true}};

constexpr int32_t kFar = 1 << 16; // behind the end of any grid that is too small by mistake

uint64_t storageBegin(const Allocation &allocation) {
  return allocation.address - static_cast<uint64_t>(allocation.view - allocation.storage);
}

/// From a host address to a real one: they differ where a tensor of a GPU was copied.
uint64_t realOf(const Allocation &allocation, uint64_t host) {
  return host - reinterpret_cast<uint64_t>(allocation.view) + allocation.address;
}

/// Calls `visit(lane, address)` for the elements of a box.
void forEachLane(const AccessBox &box, llvm::function_ref<void(int64_t, uint64_t)> visit) {
  std::array<int64_t, kBoxRank> at = {};
  for (;;) {
    int64_t lane = box.firstLane;
    uint64_t address = box.address;
    for (int d = 0; d < box.rank; ++d) {
      lane += at[d] * box.dimensions[d].laneStride;
      address += static_cast<uint64_t>(at[d] * box.dimensions[d].strideBytes);
    }
    visit(lane, address);
    int d = box.rank - 1;
    while (d >= 0 && ++at[d] == box.dimensions[d].size)
      at[d--] = 0;
    if (d < 0)
      return;
  }
}

uint64_t hostAt(const Allocation &allocation, uint64_t address) {
  return reinterpret_cast<uint64_t>(allocation.hostAt(MemoryMap::offsetIn(allocation, address)));
}

void forEachRange(const Access &access, const MemoryMap &memory,
                  llvm::function_ref<void(const Allocation &, uint64_t, uint64_t)> visit) {
  forEachBox(access, memory, [&](AccessBox box, const Allocation &allocation) {
    box.address = hostAt(allocation, box.address);
    const PlacedRows rows = rowsOf(box, access.elementBytes);
    rows.pattern.forEachRow([&](uint64_t offset) {
      const uint64_t begin = rows.begin + offset;
      visit(allocation, begin, begin + rows.pattern.rowBytes);
    });
  });
}

FoundElements elementsOf(const Allocation &allocation, const LeftOut &elements) {
  FoundElements found;
  for (const Gap &gap : elements.gaps)
    found.add(allocation.info,
              static_cast<int64_t>(gap.begin - reinterpret_cast<uint64_t>(allocation.view)),
              static_cast<int64_t>(gap.end - gap.begin));
  return found;
}

/// Whether the lanes of a box are neighbours in the tensor, along each of its dimensions.
bool isDense(const AccessBox &box, const Allocation &allocation, const Access &access) {
  if (!access.box && access.runs.empty() && box.dimensions[0].size == 1)
    return access.activeLanes == 1;
  return llvm::all_of(llvm::ArrayRef(box.dimensions).take_front(box.rank), [&](const auto &each) {
    const int64_t stride = std::abs(each.strideBytes);
    return each.size == 1 || stride == access.elementBytes ||
           llvm::any_of(allocation.info.strides, [&](int64_t tensors) {
             return stride == tensors * allocation.info.elementBytes;
           });
  });
}

bool isRegular(const OpInfo &op) {
  return op.address && op.address->isDataFree &&
         llvm::all_of(op.address->terms, [](const auto &term) { return term.isKnown; });
}

} // namespace

struct alignas(64) OutputsSanitizer::Worker {
  explicit Worker(PagePool &pool) : plain(pool), atomic(pool) {}

  WriteMap plain, atomic;
  std::vector<Stores> stores; ///< by argument
  std::vector<Loads> loads;   ///< by pending finding
};

/// Who has stored to each byte, in a run that goes program by program.
struct OutputsSanitizer::Writers {
  static constexpr uint64_t kPageBytes = 4096;
  struct Page {
    std::array<uint32_t, kPageBytes> program = {}; ///< plus 1
    std::array<uint32_t, kPageBytes> op = {};
  };
  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  llvm::DenseMap<uint32_t, const OpInfo *> ops;

  std::pair<uint32_t &, uint32_t &> at(uint64_t host) {
    std::unique_ptr<Page> &page = pages[host / kPageBytes];
    if (!page)
      page = std::make_unique<Page>();
    return {page->program[host % kPageBytes], page->op[host % kPageBytes]};
  }
};

/// Watches programs that the grid does not have.
class OutputsSanitizer::Outside : public Observer {
public:
  Outside(const LaunchInfo &launch, const WriteMap &written, PagePool &pool)
      : added(pool), launch_(launch), written_(written) {}

  ObserverPlan plan() const override {
    return {.takesRefusedLanes = true, .takesAsserts = true, .takesDeadlocks = true};
  }
  void onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane>) override {
    isRefused |= writesMemory(access.kind);
  }
  void onAccess(const Access &access) override {
    if (!writesMemory(access.kind) || access.activeLanes == 0)
      return;
    hasStored = true;
    forEachRange(access, *launch_.memory,
                 [&](const Allocation &allocation, uint64_t begin, uint64_t end) {
                   written_.forEachGap(begin, end, [&](uint64_t from, uint64_t to) {
                     added.write(from, to, 0);
                     isNews = true;
                     if (!op) {
                       op = access.op;
                       kind = access.kind;
                       blockShape = access.blockShape.vec();
                     }
                     touched.insert(&allocation);
                     return false;
                   });
                 });
  }

  bool isRefused = false, hasStored = false, isNews = false;
  WriteMap added; ///< bytes that no program of the grid has written
  llvm::DenseSet<const Allocation *> touched;
  const OpInfo *op = nullptr; ///< the first that wrote some
  AccessKind kind = AccessKind::Store;
  std::vector<int64_t> blockShape;
  std::array<int32_t, 3> program = {0, 0, 0};

private:
  const LaunchInfo &launch_;
  const WriteMap &written_;
};

OutputsSanitizer::~OutputsSanitizer() = default;

ObserverPlan OutputsSanitizer::plan() const {
  ObserverPlan plan = kPlan;
  if (!tellsTwice_)
    plan.repeat = ObserverPlan::Repeat::Accepts;
  return plan;
}

//===-- During a launch -----------------------------------------------------------------------===//

void OutputsSanitizer::onLaunchBegin(const LaunchInfo &launch) {
  launch_ = &launch;
  written_.clear();
  workers_.resize(static_cast<size_t>(std::max(1, launch.workers)));
  for (std::unique_ptr<Worker> &worker : workers_) {
    if (!worker)
      worker = std::make_unique<Worker>(pool_);
    worker->plain.clear();
    worker->atomic.clear();
    worker->stores.assign(launch.memory->arguments().size(), {});
    worker->loads.assign(pending_.size(), Loads::Nothing);
  }
  writers_.reset();
  // Where programs wait for one another, a later one may well store again.
  const bool isOrdered =
      launch.program && !launch.program->memoryUse.orders && !launch.program->memoryUse.prints;
  isExact_ = tellsTwice_ && isOrdered && !launch.isTrial && launch.workers == 1;
  if (isExact_)
    writers_ = std::make_unique<Writers>();
}

void OutputsSanitizer::onAccess(const Access &access) {
  if (access.activeLanes == 0)
    return;
  Worker &worker = *workers_[static_cast<size_t>(access.worker)];
  if (access.kind != AccessKind::Store && !pending_.empty())
    load(access, worker);
  if (!writesMemory(access.kind))
    return;
  if (isExact_ && access.kind == AccessKind::Store && access.values)
    findTwice(access);
  write(access, worker);
}

void OutputsSanitizer::write(const Access &access, Worker &worker) {
  const bool isPlain = access.kind == AccessKind::Store;
  WriteMap &map = isPlain ? worker.plain : worker.atomic;
  const bool isRegularOp = isRegular(*access.op);
  forEachBox(access, *launch_->memory, [&](AccessBox box, const Allocation &allocation) {
    if (isArgument(allocation)) {
      Stores &stores = worker.stores[allocation.number];
      if (!stores.op || access.op->id < stores.op->id) {
        stores.op = access.op;
        stores.kind = access.kind;
        stores.blockShape = access.blockShape.vec();
      }
      stores.isRegular = stores.isRegular && isRegularOp && isDense(box, allocation, access);
    }
    box.address = hostAt(allocation, box.address);
    const PlacedRows rows = rowsOf(box, access.elementBytes);
    rows.pattern.forEachRow([&](uint64_t offset) {
      const uint64_t begin = rows.begin + offset;
      map.write(begin, begin + rows.pattern.rowBytes, access.program);
    });
  });
}

void OutputsSanitizer::load(const Access &access, Worker &worker) const {
  forEachRange(
      access, *launch_->memory, [&](const Allocation &allocation, uint64_t begin, uint64_t end) {
        const uint64_t storage = storageBegin(allocation);
        const uint64_t from = realOf(allocation, begin), to = realOf(allocation, end);
        for (auto [pending, loads] : llvm::zip_equal(pending_, worker.loads)) {
          if (!pending.isHole || pending.storage != storage || loads == Loads::Hole)
            continue;
          const auto gap =
              llvm::upper_bound(pending.elements.gaps, from,
                                [](uint64_t at, const Gap &each) { return at < each.end; });
          const bool isIn = gap != pending.elements.gaps.end() && gap->begin < to;
          loads = isIn ? Loads::Hole : Loads::Rest;
        }
      });
}

bool OutputsSanitizer::isArgument(const Allocation &allocation) const {
  const auto &arguments = launch_->memory->arguments();
  return allocation.number < arguments.size() && arguments[allocation.number].get() == &allocation;
}

bool OutputsSanitizer::mustRepeat() {
  if (!tellsTwice_)
    return false;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->plain.finish())
      return true;
    for (size_t k = 0; k < i; ++k)
      if (workers_[i]->plain.overlaps(workers_[k]->plain))
        return true;
  }
  return false;
}

void OutputsSanitizer::findTwice(const Access &access) {
  const auto *values = static_cast<const std::byte *>(access.values);
  const auto size = static_cast<uint64_t>(access.elementBytes);
  const auto program = static_cast<uint32_t>(access.program) + 1;
  writers_->ops[access.op->id] = access.op;
  forEachBox(access, *launch_->memory, [&](const AccessBox &box, const Allocation &allocation) {
    int64_t count = 0, firstLane = 0, firstOffset = 0;
    uint32_t other = 0, otherOp = 0;
    FoundElements elements;
    forEachLane(box, [&](int64_t lane, uint64_t address) {
      const uint64_t host = hostAt(allocation, address);
      const auto [writer, op] = writers_->at(host);
      const std::byte *value =
          values + (access.valuesAreScalar ? 0 : static_cast<uint64_t>(lane) * size);
      const bool isTwice = writer != 0 && writer != program &&
                           std::memcmp(reinterpret_cast<const void *>(host), value, size) == 0;
      if (isTwice)
        elements.add(allocation.info, MemoryMap::offsetIn(allocation, address),
                     static_cast<int64_t>(size));
      if (isTwice && count++ == 0) {
        firstLane = lane;
        firstOffset = MemoryMap::offsetIn(allocation, address);
        other = writer - 1;
        otherOp = op;
      }
      for (uint64_t byte = 0; byte < size; ++byte) {
        const auto [byteWriter, byteOp] = writers_->at(host + byte);
        byteWriter = program;
        byteOp = access.op->id;
      }
    });
    if (count != 0)
      reportTwice(access, allocation, firstLane, firstOffset, count, other, otherOp, elements);
  });
}

void OutputsSanitizer::reportTwice(const Access &access, const Allocation &allocation, int64_t lane,
                                   int64_t offset, int64_t count, uint32_t other, uint32_t otherOp,
                                   const FoundElements &elements) {
  const std::string cause =
      "written-twice " + placeKey(access.op->location) + " " + allocation.info.name;
  collector_.add(
      cause, {launch_->launchIndex, access.program, access.sequence, lane}, count,
      [&] {
        Finding finding = beginFinding(FindingCode::WrittenTwice, *launch_);
        finding.site = describeSite(access, *launch_, lane);
        finding.element = describeElement(allocation, offset);
        const auto first = programIndex(other, launch_->grid);
        finding.message = llvm::formatv("store of the value that program ({0}, {1}, {2}) has "
                                        "stored to the same element before",
                                        first[0], first[1], first[2])
                              .str();
        Site before{SiteRole::OtherSide, writers_->ops[otherOp]->location, Execution()};
        before.execution->access = AccessKind::Store;
        before.execution->program = first;
        finding.related.push_back(std::move(before));
        finding.hint = "which of the two programs should write this element?";
        return finding;
      },
      elements);
}

//===-- After a launch ------------------------------------------------------------------------===//

void OutputsSanitizer::onLaunchEnd() {
  for (const auto &worker : workers_)
    for (WriteMap *map : {&worker->plain, &worker->atomic}) {
      map->finish();
      written_.take(*map);
    }
  withdrawPassedOver();
  withdrawWritten([&](const Pending &pending) {
    for (const auto &allocation : launch_->memory->arguments())
      if (storageBegin(*allocation) == pending.storage) {
        const uint64_t host = reinterpret_cast<uint64_t>(allocation->view) +
                              (pending.elements.gaps.front().begin - allocation->address);
        return written_.isWritten(host);
      }
    return false;
  });
  llvm::SmallVector<uint64_t> begins;
  for (const auto &allocation : launch_->memory->arguments()) {
    Stores stores;
    for (const auto &worker : workers_) {
      Stores &each = worker->stores[allocation->number];
      if (!each.op)
        continue;
      const bool isRegular = stores.isRegular && each.isRegular;
      if (!stores.op || each.op->id < stores.op->id)
        stores = each;
      stores.isRegular = isRegular;
    }
    if (!stores.op)
      continue;
    begins.push_back(storageBegin(*allocation));
    lookAt(*allocation, stores);
  }
  launched_.insert(begins.begin(), begins.end());
  writers_.reset();
}

void OutputsSanitizer::lookAt(const Allocation &allocation, const Stores &stores) {
  const std::optional<LeftOut> left = leftOut(allocation, written_);
  if (!left)
    return;
  define(allocation);
  // What an earlier launch has written may be what this one leaves out.
  if (left->empty() || launched_.contains(storageBegin(allocation)))
    return;
  if (lookOutside(allocation, *left) || !stores.isRegular)
    return;
  const bool isFilled = filled_.contains(storageBegin(allocation));
  const LeftOut hole = isFilled ? LeftOut() : enclosed(allocation, *left, written_);
  if (!hole.empty())
    reportHole(allocation, stores, hole);
}

/// What was written has a value now.
void OutputsSanitizer::define(const Allocation &allocation) {
  UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(storageBegin(allocation));
  if (!storage)
    return;
  storage->launch = std::make_shared<LaunchFacts>(
      LaunchFacts{launch_->kernel, launch_->grid, launch_->metaParameters, launch_->launchIndex});
  storage->argument = std::make_shared<Allocation>(allocation);
  const auto host = reinterpret_cast<uint64_t>(allocation.storage);
  const auto bytes = static_cast<uint64_t>(allocation.storageBytes);
  uint64_t at = host;
  const auto defineUpTo = [&](uint64_t end) {
    if (at < end)
      storage->define(realOf(allocation, at), realOf(allocation, end));
  };
  written_.forEachGap(host, host + bytes, [&](uint64_t from, uint64_t to) {
    defineUpTo(from);
    at = to;
    return false;
  });
  defineUpTo(host + bytes);
}

/// Runs programs behind the end of the grid. Returns whether they write what was left out.
bool OutputsSanitizer::lookOutside(const Allocation &allocation, const LeftOut &left) {
  if (!launch_->runOutside || !launch_->program)
    return false;
  const MemoryUse &use = launch_->program->memoryUse;
  const auto &grid = launch_->grid;
  for (int axis = 0; axis < 3; ++axis) {
    if (!use.usesProgramId[axis])
      continue;
    std::array<int32_t, 3> first = {0, 0, 0}, count = grid;
    count[axis] = 1;
    Outside far(*launch_, written_, pool_);
    first[axis] = grid[axis] + kFar;
    if (!launch_->runOutside(first, count, far) || far.isRefused || far.hasStored)
      continue; // only the grid says where the kernel ends
    Outside outside(*launch_, written_, pool_);
    first[axis] = grid[axis];
    outside.program = first;
    const int64_t total = int64_t{grid[0]} * grid[1] * grid[2];
    for (int64_t budget = std::max<int64_t>(64, total); budget > 0; ++first[axis]) {
      outside.isNews = false;
      if (!launch_->runOutside(first, count, outside) || outside.isRefused || !outside.isNews)
        break;
      budget -= total / grid[axis];
    }
    outside.added.finish();
    if (outside.isRefused || !outside.touched.contains(&allocation))
      continue;
    if (reportGrid(outside, allocation, left, axis))
      return true;
  }
  return false;
}

bool OutputsSanitizer::reportGrid(const Outside &outside, const Allocation &allocation,
                                  const LeftOut &left, int axis) {
  LeftOut missing;
  for (const Gap &gap : left.gaps) {
    uint64_t at = gap.begin;
    outside.added.forEachGap(gap.begin, gap.end, [&](uint64_t from, uint64_t to) {
      if (at < from)
        missing.add(at, from, allocation.info.elementBytes);
      at = to;
      return false;
    });
    if (at < gap.end)
      missing.add(at, gap.end, allocation.info.elementBytes);
  }
  // A stencil leaves its border out, and some of it to nobody: only a whole output is meant whole.
  if (missing.elements != left.elements)
    return false;
  const std::string cause =
      "never-written " + placeKey(outside.op->location) + " " + allocation.info.name;
  collector_.add(
      cause, {launch_->launchIndex}, missing.elements,
      [&] {
        Finding finding = beginFinding(FindingCode::NeverWritten, *launch_);
        finding.site.location = outside.op->location;
        finding.element = describeElement(
            allocation, static_cast<int64_t>(missing.gaps.front().begin -
                                             reinterpret_cast<uint64_t>(allocation.view)));
        const auto &grid = launch_->grid;
        const auto &program = outside.program;
        finding.message =
            llvm::formatv("no program writes {0}: the grid ends before the program that would",
                          elementsText(allocation, missing))
                .str();
        finding.hint =
            llvm::formatv(
                "the grid has {0} programs along axis {1}; program ({2}, {3}, {4}) would go "
                "on: is its size rounded up (triton.cdiv)?",
                grid[axis], axis, program[0], program[1], program[2])
                .str();
        return finding;
      },
      elementsOf(allocation, missing));
  stand(cause, allocation, missing, false);
  return true;
}

void OutputsSanitizer::reportHole(const Allocation &allocation, const Stores &stores,
                                  const LeftOut &hole) {
  const UndefinedStorage *fresh =
      memory_.empty() ? nullptr : memory_.find(storageBegin(allocation));
  const std::string cause =
      "never-written " + placeKey(stores.op->location) + " " + allocation.info.name;
  collector_.add(
      cause, {launch_->launchIndex}, hole.elements,
      [&] {
        Finding finding = beginFinding(FindingCode::NeverWritten, *launch_);
        if (!fresh)
          finding.severity = Severity::Warning; // what it held before the check may be meant
        finding.site.location = stores.op->location;
        finding.element = describeElement(
            allocation, static_cast<int64_t>(hole.gaps.front().begin -
                                             reinterpret_cast<uint64_t>(allocation.view)));
        finding.message = llvm::formatv("no program writes {0}, but what is before and after it",
                                        elementsText(allocation, hole))
                              .str();
        finding.hint = "do programs, or iterations of the loop, advance by the size of the block?";
        return finding;
      },
      elementsOf(allocation, hole));
  stand(cause, allocation, hole, true);
}

void OutputsSanitizer::stand(const std::string &cause, const Allocation &allocation,
                             const LeftOut &elements, bool isHole) {
  Pending pending{cause, storageBegin(allocation), elements, isHole};
  for (Gap &gap : pending.elements.gaps)
    gap = {realOf(allocation, gap.begin), realOf(allocation, gap.end)};
  llvm::sort(pending.elements.gaps, [](const Gap &a, const Gap &b) { return a.begin < b.begin; });
  pending_.push_back(std::move(pending));
}

void OutputsSanitizer::withdrawWritten(llvm::function_ref<bool(const Pending &)> isWritten) {
  llvm::erase_if(pending_, [&](const Pending &pending) {
    const bool isMended = isWritten(pending);
    if (isMended)
      collector_.withdraw(pending.cause);
    return isMended;
  });
}

/// What a launch leaves out that loads of the same memory is for nobody.
void OutputsSanitizer::withdrawPassedOver() {
  std::vector<Pending> kept;
  for (auto [i, pending] : llvm::enumerate(pending_)) {
    Loads loads = Loads::Nothing;
    for (const auto &worker : workers_)
      loads = std::max(loads, worker->loads[i]);
    if (loads == Loads::Rest)
      collector_.withdraw(pending.cause);
    else
      kept.push_back(std::move(pending));
  }
  pending_ = std::move(kept);
}

//===-- The host ------------------------------------------------------------------------------===//

void OutputsSanitizer::onHostAllocation(const HostRange &storage, const SourceLocation &where) {
  if (storage.bytes == 0)
    return;
  onHostFree(storage);
  auto trail = std::make_shared<Trail>();
  trail->birth = Birth::NeverWritten;
  trail->sites.push_back({SiteRole::AllocatedAt, where, std::nullopt});
  memory_.storage(storage.begin, storage.bytes)
      .undefine(storage.begin, storage.begin + storage.bytes, std::move(trail));
}

void OutputsSanitizer::onHostWrite(const HostElements &elements) {
  filled_.insert(elements.storage.begin);
  if (elements.count() * elements.elementBytes >= elements.storage.bytes)
    launched_.erase(elements.storage.begin);
  withdrawWritten([&](const Pending &pending) {
    bool isWritten = false;
    const uint64_t at = pending.elements.gaps.front().begin;
    if (pending.storage == elements.storage.begin)
      elements.forEachRun(
          [&](uint64_t begin, uint64_t end) { return isWritten = begin <= at && at < end; });
    return isWritten;
  });
  if (memory_.empty())
    return;
  elements.forEachRun([&](uint64_t begin, uint64_t end) {
    memory_.define(begin, end);
    return false;
  });
}

void OutputsSanitizer::onHostRead(const HostElements &elements, const SourceLocation &where) {
  llvm::erase_if(pending_, [&](const Pending &pending) { // it is too late to write them
    return pending.storage == elements.storage.begin;
  });
  UndefinedStorage *storage = memory_.empty() ? nullptr : memory_.find(elements.address);
  if (!tellsReads_ || !storage || !storage->argument)
    return;
  const Allocation &argument = *storage->argument;
  LeftOut read;
  const auto size = static_cast<uint64_t>(argument.info.elementBytes);
  elements.forEachRun([&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end && storage->covers(begin, end); at += size)
      if (storage->firstUndefined(at, std::min(at + size, end)))
        read.add(at, at + size, argument.info.elementBytes);
    return false;
  });
  if (read.empty())
    return;
  const uint64_t first = read.gaps.front().begin;
  const Trail &trail = *storage->trailAt(first);
  for (Gap &gap : read.gaps) { // as the text has them
    const uint64_t delta = reinterpret_cast<uint64_t>(argument.view) - argument.address;
    gap = {gap.begin + delta, gap.end + delta};
  }
  const std::string cause = "never-written " + placeKey(where) + " " + argument.info.name;
  collector_.add(
      cause, {storage->launch->index}, read.elements,
      [&] {
        Finding finding;
        finding.code = FindingCode::NeverWritten;
        finding.severity = Severity::Error;
        finding.site.location = where;
        finding.related = trail.sites;
        finding.launch = *storage->launch;
        finding.element = describeElement(argument, static_cast<int64_t>(first - argument.address));
        finding.message = llvm::formatv("the host reads {0}, which no program has written",
                                        elementsText(argument, read))
                              .str();
        finding.hint = "does the grid, or the loop in the kernel, reach the end of the tensor?";
        return finding;
      },
      elementsOf(argument, read));
  onHostWrite(elements); // told once
}

void OutputsSanitizer::onHostShare(const HostElements &elements, const SourceLocation &where) {
  onHostRead(elements, where);
  onHostWrite(elements);
}

// A copy is no look at the padding.
void OutputsSanitizer::onHostCopy(const HostElements & /*from*/, const HostElements &to) {
  onHostWrite(to);
}

// What is made of the padding is not followed, so it is looked at here.
void OutputsSanitizer::onHostCompute(llvm::ArrayRef<HostElements> from, const HostElements &to,
                                     const SourceLocation &where) {
  for (const HostElements &elements : from)
    onHostRead(elements, where);
  onHostWrite(to);
}

void OutputsSanitizer::onHostMove(llvm::ArrayRef<HostElements> /*from*/,
                                  llvm::ArrayRef<int64_t> /*numbers*/, const HostElements &to) {
  onHostWrite(to);
}

void OutputsSanitizer::onHostFree(const HostRange &storage) {
  memory_.forget(storage.begin, storage.bytes);
  launched_.erase(storage.begin);
  filled_.erase(storage.begin);
  llvm::erase_if(pending_,
                 [&](const Pending &pending) { return pending.storage == storage.begin; });
}

bool OutputsSanitizer::mayBeUndefined(const HostRange &storage) const {
  return llvm::any_of(pending_, [&](const Pending &p) { return p.storage == storage.begin; }) ||
         (!memory_.empty() && memory_.find(storage.begin) != nullptr);
}

namespace {

const Registration kRegistration({
    .name = "outputs",
    .help = "elements of an output that no program writes, or that two write; launches that "
            "autotune cannot repeat",
    .codes = kCodes,
    .plan = kPlan,
    .make = [](const SanitizerContext &context) -> std::unique_ptr<Observer> {
      auto made = std::make_unique<OutputsSanitizer>(context.collector, !context.isOn("undefined"),
                                                     !context.isOn("tsan"));
      context.hostWatchers.push_back(made.get());
      return made;
    },
});

} // namespace

} // namespace blockscope::sanitizer
