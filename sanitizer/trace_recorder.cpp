// Folding of access events into trace runs.
#include "sanitizer/trace_recorder.h"

#include "core/report.h"
#include "core/source_text.h"
#include "core/trace/trace_check.h"
#include "sanitizer/work.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace blockscope::sanitizer {
namespace {

constexpr size_t kFlushRuns = 8192;

/// Launch options; their names distinguish them from meta-parameters.
constexpr llvm::StringLiteral kOptionNames[] = {"num_warps", "num_stages", "num_ctas",
                                                "maxnreg",   "debug",      "enable_fp_fusion"};

TraceAccessKind traceKind(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return TraceAccessKind::Read;
  case AccessKind::Store:
    return TraceAccessKind::Write;
  case AccessKind::AtomicLoad:
  case AccessKind::AtomicStore:
  case AccessKind::AtomicRmw:
  case AccessKind::AtomicCas:
    return TraceAccessKind::Atomic;
  }
  return TraceAccessKind::Read;
}

TraceOpKind opKind(llvm::StringRef name) {
  if (name.contains("atomic"))
    return TraceOpKind::Atomic;
  if (name.contains("store"))
    return TraceOpKind::Write;
  return name.contains("load") ? TraceOpKind::Read : TraceOpKind::Other;
}

TraceArgument describe(const TensorInfo &info) {
  TraceArgument argument;
  argument.name = info.name;
  argument.dtype = info.dtype;
  argument.shape = info.shape;
  argument.strides = info.strides;
  argument.elementBytes = info.elementBytes;
  argument.storageBytes = info.storageBytes;
  argument.baseOffsetBytes = info.storageOffsetBytes;
  return argument;
}

std::string callChain(const SourceLocation &location) {
  std::string chain;
  for (const SourceLocation *at = location.caller.get(); at != nullptr; at = at->caller.get()) {
    if (!chain.empty())
      chain += '\n';
    chain += at->file + ":" + std::to_string(at->line) + ":" + std::to_string(at->column) + " " +
             at->function;
  }
  return chain;
}

std::string listText(llvm::ArrayRef<int64_t> values) {
  std::string text;
  for (const int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// "23 of [32]", "33 = [1, 1] of [2, 32]"; nothing for a scalar.
std::string laneText(const Execution &ran) {
  if (ran.blockShape.empty())
    return "";
  return std::to_string(ran.lane) +
         (ran.blockShape.size() > 1 ? " = " + listText(ran.laneIndex) : "") + " of " +
         listText(ran.blockShape);
}

int64_t programNumber(const TraceLaunch &launch, const Execution &ran) {
  const auto &[x, y, z] = ran.program;
  const int64_t program = x + launch.grid[0] * (y + launch.grid[1] * int64_t{z});
  return program >= 0 && program < launch.programCount() ? program : -1;
}

int32_t argumentNamed(const TraceLaunch &launch, llvm::StringRef name) {
  for (size_t argument = 0; argument < launch.arguments.size(); ++argument)
    if (launch.arguments[argument].name == name && launch.arguments[argument].isTensor())
      return static_cast<int32_t>(argument);
  return -1;
}

/// The op at a place; of several, in a function that is called twice, the one with the same calls.
int32_t opAt(const TraceLaunch &launch, const TracePlace &place, const std::string &calls) {
  int32_t found = -1;
  for (size_t op = 0; op < launch.ops.size(); ++op) {
    const TraceOp &each = launch.ops[op];
    if (each.source != place.source || each.line != place.line || each.column != place.column)
      continue;
    if (each.callChain == calls)
      return static_cast<int32_t>(op);
    found = found < 0 ? static_cast<int32_t>(op) : found;
  }
  return found;
}

/// The elements of a finding as rows of the launch. `left` elements may still be added to it.
void addElements(TraceFinding &row, const TraceLaunch &launch,
                 llvm::ArrayRef<TensorElements> elements, int64_t &left) {
  for (const TensorElements &each : elements) {
    const int32_t argument = argumentNamed(launch, each.tensor);
    if (argument < 0 ||
        launch.arguments[static_cast<size_t>(argument)].elementBytes != each.elementBytes)
      continue;
    row.hasMoreElements |= each.isCut;
    for (const ElementRows &run : each.rows) {
      left -= run.count * run.rows;
      if (left < 0) {
        row.hasMoreElements = true;
        return;
      }
      row.elements.push_back({argument, run.first * each.elementBytes, run.count, run.rows,
                              run.rowStride * each.elementBytes});
    }
  }
}

/// Whether a run that begins at an element of the view stays in it because it follows a dimension.
bool followsDimension(const Allocation &allocation, int64_t offset, const AccessRun &run,
                      int bytes) {
  const TensorInfo &info = allocation.info;
  if (bytes != info.elementBytes)
    return false;
  const std::vector<int64_t> index = allocation.elementIndex(offset);
  for (size_t dim = 0; dim < index.size(); ++dim)
    if (run.strideBytes == info.strides[dim] * info.elementBytes &&
        index[dim] + run.count <= info.shape[dim])
      return true;
  return false;
}

/// Whether every element of the run is an element of the view.
bool isInView(const Allocation &allocation, int64_t offset, const AccessRun &run, int bytes) {
  const int64_t last = offset + (run.count - 1) * run.strideBytes;
  if (allocation.viewIsDense)
    return std::min(offset, last) >= allocation.viewBegin &&
           std::max(offset, last) + bytes <= allocation.viewEnd;
  if (run.count > 0 && !allocation.inView(offset, bytes))
    return false;
  if (run.count > 2 && followsDimension(allocation, offset, run, bytes))
    return true;
  for (int64_t index = 1; index < run.count; ++index)
    if (!allocation.inView(offset + index * run.strideBytes, bytes))
      return false;
  return true;
}

/// The distance between wild addresses may be anything: further apart than this they are rows of
/// their own, so that no reader overflows.
constexpr int64_t kMaxStrideBytes = int64_t{1} << 40;

bool canStep(uint64_t from, uint64_t to) {
  const auto step = static_cast<int64_t>(to - from);
  return step >= -kMaxStrideBytes && step <= kMaxStrideBytes;
}

/// Makes `next` a further row of `last` when it continues its pattern.
bool foldInto(TraceRun &last, const TraceRun &next) {
  const auto lastRow = static_cast<uint64_t>(last.offsetBytes) +
                       static_cast<uint64_t>((last.outerCount - 1) * last.outerStrideBytes);
  if (last.innerCount != next.innerCount || last.innerStrideBytes != next.innerStrideBytes ||
      !canStep(lastRow, static_cast<uint64_t>(next.offsetBytes)))
    return false;
  const auto step = static_cast<int64_t>(static_cast<uint64_t>(next.offsetBytes) - lastRow);
  if (last.outerCount > 1 && step != last.outerStrideBytes)
    return false;
  last.outerStrideBytes = step;
  ++last.outerCount;
  return true;
}

std::string wayName(AccessPlan::Way way) {
  switch (way) {
  case AccessPlan::Way::Threads:
    return "threads";
  case AccessPlan::Way::AsyncCopy:
    return "cp.async";
  case AccessPlan::Way::Tma:
    return "TMA";
  }
  return "";
}

/// Adds a row, unless there is one that says the same: a loop's copies begin before it, too.
void addExchange(TraceGpu &gpu, TraceExchange row) {
  const auto known =
      std::find_if(gpu.exchanges.begin(), gpu.exchanges.end(), [&](const TraceExchange &other) {
        return other.source == row.source && other.line == row.line && other.column == row.column &&
               other.what == row.what && other.bytes == row.bytes &&
               other.wavefronts == row.wavefronts && other.leastWavefronts == row.leastWavefronts;
      });
  if (known != gpu.exchanges.end())
    known->inLoop |= row.inLoop;
  else
    gpu.exchanges.push_back(std::move(row));
}

/// The bits of one element before and after an access.
struct ElementChange {
  uint64_t before = 0;
  uint64_t after = 0;
};

uint64_t bitsAt(const void *from, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytes));
  return bits;
}

/// Where the active lanes of an access are, with their numbers, in their order.
/// Errors: false, where memory is not known.
bool placesOf(const Access &access, const MemoryMap *memory,
              std::vector<std::pair<int64_t, const std::byte *>> &places) {
  for (const AccessRun &run : access.runs)
    for (int64_t lane = 0; lane < run.count; ++lane) {
      const uint64_t address = run.address + static_cast<uint64_t>(lane * run.strideBytes);
      const Allocation *allocation = access.allocation;
      if (allocation == nullptr && memory != nullptr)
        allocation = memory->find(address);
      if (allocation == nullptr)
        return false;
      places.emplace_back(run.firstLane + lane,
                          allocation->hostAt(MemoryMap::offsetIn(*allocation, address)));
    }
  return true;
}

/// What each active lane finds and leaves. Lanes that meet at an element take their turns.
/// Errors: false, where memory is not known.
bool changesOf(const Access &access, const MemoryMap *memory, std::vector<ElementChange> &changes) {
  const int bytes = access.elementBytes;
  std::vector<std::pair<int64_t, const std::byte *>> places;
  if (!placesOf(access, memory, places))
    return false;
  const auto valueOf = [&](int64_t lane) {
    const auto *values = static_cast<const std::byte *>(access.values);
    return bitsAt(values + (access.valuesAreScalar ? 0 : lane * bytes), bytes);
  };
  changes.resize(places.size());
  llvm::DenseMap<const std::byte *, uint64_t> latest; ///< what a lane has left, or finds, there
  if (access.kind == AccessKind::Store) {
    for (size_t at = 0; at < places.size(); ++at) {
      const auto &[lane, place] = places[at];
      const auto [entry, isFirst] = latest.try_emplace(place, 0);
      changes[at] = {isFirst ? bitsAt(place, bytes) : entry->second, valueOf(lane)};
      entry->second = changes[at].after;
    }
    return true;
  }
  if (access.kind == AccessKind::Load || access.kind == AccessKind::AtomicLoad) {
    for (size_t at = 0; at < places.size(); ++at)
      changes[at].before = changes[at].after = bitsAt(places[at].second, bytes);
    return true;
  }
  if (access.values == nullptr)
    return false;
  for (size_t at = places.size(); at-- > 0;) { // what a lane leaves the next one finds
    const auto &[lane, place] = places[at];
    const auto [entry, isLast] = latest.try_emplace(place, 0);
    changes[at] = {valueOf(lane), isLast ? bitsAt(place, bytes) : entry->second};
    entry->second = changes[at].before;
  }
  return true;
}

} // namespace

/// What one worker has recorded and not yet written.
struct TraceRecorder::Worker {
  std::vector<TraceRun> runs;
  std::vector<const OpInfo *> ops; ///< by id, null when not met
  std::vector<AccessRun> badRuns;
  bool blockBegun = false; ///< refused lanes of the coming access are recorded already
  size_t firstOfBlock = 0; ///< index of its first run
  size_t refusedLanes = 0;

  /// What an op would move on a GPU, of the accesses that are looked at.
  struct OpTraffic {
    const AccessPlan *plan = nullptr;
    bool isKnown = false; ///< whether there is a plan
    Traffic traffic;
    int64_t program = -1; ///< that made the last access
    int accesses = 0;     ///< that it has made
  };
  TrafficCounter counter;
  std::vector<OpTraffic> traffic; ///< by op
  struct OpWorks {
    const OpInfo *op;
    OpWork work; ///< of all its events
  };
  std::map<uint32_t, OpWorks> works; ///< by op
};

TraceRecorder::TraceRecorder(std::unique_ptr<TraceWriter> writer, TraceOptions options)
    : writer_(std::move(writer)), options_(options) {}

TraceRecorder::~TraceRecorder() { close(); }

void TraceRecorder::onLaunchBegin(const LaunchInfo &launch) {
  endPendingLaunch();
  launch_ = TraceLaunch();
  launchIndex_ = launch.launchIndex;
  launch_.kernel = launch.kernel;
  std::copy(launch.grid.begin(), launch.grid.end(), launch_.grid.begin());
  for (const auto &[name, value] : launch.metaParameters)
    (llvm::is_contained(kOptionNames, name) ? launch_.options : launch_.parameters)
        .push_back({name, value});
  info_ = &launch;
  for (const std::string &file : launch.files)
    sourceOf(file);
  workers_.clear();
  for (int index = 0; index < std::max(1, launch.workers); ++index)
    workers_.push_back(std::make_unique<Worker>());
  memory_ = launch.memory;
  values_ = {};
  if (nextPlan_)
    plan_ = std::exchange(nextPlan_, std::nullopt);
  keepsValues_ = options_.values && launch.workers <= 1;
  runsFlushed_ = 0;
  kernelArguments_.clear();
  found_.clear();
  if (memory_ != nullptr)
    for (const std::unique_ptr<Allocation> &argument : memory_->arguments()) {
      launch_.arguments.push_back(describe(argument->info));
      kernelArguments_.push_back(argument.get());
    }
  launchPending_ = writer_->beginLaunch();
}

/// Number of an allocation in the file; tensors found by a host address are added as arguments.
int32_t TraceRecorder::argumentOf(const Allocation *allocation) {
  if (allocation == nullptr)
    return -1;
  if (allocation->number < kernelArguments_.size() &&
      kernelArguments_[allocation->number] == allocation)
    return static_cast<int32_t>(allocation->number);
  for (size_t index = 0; index < kernelArguments_.size(); ++index)
    if (kernelArguments_[index] == allocation)
      return static_cast<int32_t>(index);
  const std::lock_guard<std::mutex> lock(foundMutex_);
  const auto [entry, isNew] =
      found_.try_emplace(allocation, static_cast<int32_t>(launch_.arguments.size()));
  if (isNew)
    launch_.arguments.push_back(describe(allocation->info));
  return entry->second;
}

void TraceRecorder::noteOp(Worker &worker, const OpInfo &op) {
  if (worker.ops.size() <= op.id)
    worker.ops.resize(op.id + 1);
  worker.ops[op.id] = &op;
}

void TraceRecorder::addRuns(Worker &worker, const Access &access, int32_t argument, uint8_t flags,
                            llvm::ArrayRef<AccessRun> runs, const Allocation *allocation) {
  TraceRun run;
  run.program = static_cast<uint32_t>(access.program);
  run.op = access.op->id;
  run.argument = argument;
  run.elementBytes = static_cast<uint8_t>(access.elementBytes);
  run.kind = traceKind(access.kind);
  bool canFold = false;
  for (const AccessRun &each : runs) {
    run.offsetBytes = allocation != nullptr ? MemoryMap::offsetIn(*allocation, each.address)
                                            : static_cast<int64_t>(each.address);
    run.innerCount = static_cast<uint32_t>(each.count);
    run.innerStrideBytes = each.count > 1 ? each.strideBytes : 0;
    run.flags = flags;
    if (flags == 0 && allocation != nullptr &&
        !isInView(*allocation, run.offsetBytes, each, access.elementBytes))
      run.flags = kTraceOutsideView;
    const bool begins = !worker.blockBegun;
    if (canFold && !begins && (worker.runs.back().flags & ~kTraceFirstOfBlock) == run.flags &&
        foldInto(worker.runs.back(), run))
      continue;
    if (begins) {
      run.flags |= kTraceFirstOfBlock;
      worker.firstOfBlock = worker.runs.size();
      worker.blockBegun = true;
    }
    worker.runs.push_back(run);
    canFold = true;
  }
}

/// The values of the lanes of an access, which are the elements of its runs from `firstRun` on.
/// Stores are seen before they happen, atomics after that.
void TraceRecorder::addValues(const Worker &worker, const Access &access, size_t firstRun) {
  uint64_t elements = 0;
  for (size_t run = firstRun; run < worker.runs.size(); ++run)
    elements += uint64_t{worker.runs[run].innerCount} * worker.runs[run].outerCount;
  if (!keepsValues_ || values_.run.size() + elements > kMaxTraceValues) {
    keepsValues_ = false; // those that are kept are the first ones
    values_.dropped += static_cast<int64_t>(elements);
    return;
  }
  std::vector<ElementChange> changes;
  if (access.elementBytes > kMaxValueBytes || access.kind == AccessKind::AtomicStore ||
      !changesOf(access, memory_, changes) || changes.size() != elements) {
    values_.dropped += static_cast<int64_t>(elements);
    return;
  }
  for (size_t run = firstRun; run < worker.runs.size(); ++run)
    values_.run.insert(values_.run.end(),
                       size_t{worker.runs[run].innerCount} * worker.runs[run].outerCount,
                       runsFlushed_ + static_cast<int64_t>(run));
  for (const ElementChange &change : changes) {
    values_.before.push_back(static_cast<int64_t>(change.before));
    values_.after.push_back(static_cast<int64_t>(change.after));
  }
}

void TraceRecorder::predict(MemoryPlan plan, TraceGpu gpu) {
  endPendingLaunch();
  nextPlan_.emplace(std::move(plan), std::move(gpu));
}

/// The plan of an op, by its place; null where the GPU has none.
const AccessPlan *TraceRecorder::planOf(const OpInfo &op, AccessKind kind) const {
  const AccessPlan::Kind wanted = kind == AccessKind::Load    ? AccessPlan::Kind::Load
                                  : kind == AccessKind::Store ? AccessPlan::Kind::Store
                                                              : AccessPlan::Kind::Atomic;
  const std::string place = placeKey(op.location);
  for (const AccessPlan &each : plan_->first.accesses)
    if (each.kind == wanted && placeKey(each.location) == place)
      return &each;
  return nullptr;
}

/// Looks at a few accesses of a few programs, which are spread over the grid: a kernel's programs
/// are much alike.
void TraceRecorder::addTraffic(Worker &worker, const Access &access) {
  constexpr int64_t kPrograms = 32;
  constexpr int kAccesses = 16; // of a program
  if (access.program % std::max<int64_t>(1, launch_.programCount() / kPrograms) != 0)
    return;
  if (worker.traffic.size() <= access.op->id)
    worker.traffic.resize(access.op->id + 1);
  Worker::OpTraffic &mine = worker.traffic[access.op->id];
  if (!std::exchange(mine.isKnown, true))
    mine.plan = planOf(*access.op, access.kind);
  if (std::exchange(mine.program, access.program) != access.program)
    mine.accesses = 0;
  if (mine.plan != nullptr && mine.accesses++ < kAccesses)
    worker.counter.add(access, *mine.plan, memory_, mine.traffic);
}

void TraceRecorder::onValues(const OpValues &event) {
  if (!plan_)
    return;
  const std::optional<OpWork> work = workOf(event, plan_->first.dotsAreTf32);
  if (!work)
    return;
  const auto [entry, isNew] =
      worker(event.worker).works.try_emplace(event.op->id, Worker::OpWorks{event.op, *work});
  if (!isNew)
    entry->second.work.flops += work->flops;
}

/// What all workers have counted, as rows of the launch.
void TraceRecorder::addPrediction() {
  TraceGpu &gpu = launch_.gpu = plan_->second;
  std::map<uint32_t, TraceTraffic> traffic;
  std::map<std::tuple<int32_t, int32_t, std::string, std::string>, int64_t> flops;
  for (const std::unique_ptr<Worker> &each : workers_) {
    for (uint32_t op = 0; op < each->traffic.size(); ++op) {
      const Worker::OpTraffic &counted = each->traffic[op];
      if (counted.plan == nullptr || counted.traffic.accesses == 0)
        continue;
      TraceTraffic &row = traffic[op];
      row.op = static_cast<int32_t>(op);
      row.way = wayName(counted.plan->way);
      row.bytes = counted.plan->way == AccessPlan::Way::Tma
                      ? 0
                      : counted.plan->elementBytes * counted.plan->elementsPerThread;
      row.accesses += counted.traffic.accesses;
      row.requests += counted.traffic.requests;
      row.sectors += counted.traffic.sectors;
      row.leastSectors += counted.traffic.leastSectors;
    }
    for (const auto &[op, counted] : each->works) {
      const SourceLocation &at = counted.op->location;
      flops[{at.isKnown() ? sourceOf(at.file) : -1, at.line, counted.work.unit,
             counted.work.dtype}] += counted.work.flops;
    }
  }
  for (auto &[op, row] : traffic)
    gpu.traffic.push_back(std::move(row));
  for (const auto &[key, count] : flops)
    gpu.work.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), count});
  for (const ExchangePlan &each : plan_->first.exchanges)
    addExchange(gpu, {each.location.isKnown() ? sourceOf(each.location.file) : -1,
                      each.location.line, each.location.column, each.what, each.bytesPerThread,
                      each.wavefronts, each.leastWavefronts, uint8_t{each.isInLoop}});
  plan_.reset();
}

void TraceRecorder::flush(Worker &worker) {
  if (workers_.size() == 1) // else others may flush now
    runsFlushed_ += static_cast<int64_t>(worker.runs.size());
  writer_->appendRuns(worker.runs);
  worker.runs.clear();
}

void TraceRecorder::onAccess(const Access &access) {
  Worker &mine = worker(access.worker);
  const size_t firstRun = mine.runs.size();
  noteOp(mine, *access.op);
  if (access.allocation != nullptr || memory_ == nullptr) {
    addRuns(mine, access, argumentOf(access.allocation), 0, access.runs, access.allocation);
  } else {
    for (const AccessRun &each : access.runs) { // lanes may reach several tensors
      const Allocation *first = memory_->find(each.address);
      const Allocation *last =
          memory_->find(each.address + static_cast<uint64_t>((each.count - 1) * each.strideBytes));
      if (first == last) {
        addRuns(mine, access, argumentOf(first), 0, each, first);
        continue;
      }
      for (int64_t lane = 0; lane < each.count; ++lane) {
        const AccessRun one = {each.firstLane + lane, 1,
                               each.address + static_cast<uint64_t>(lane * each.strideBytes), 0};
        const Allocation *allocation = memory_->find(one.address);
        addRuns(mine, access, argumentOf(allocation), 0, one, allocation);
      }
    }
  }
  if (!mine.blockBegun) // no lane was active
    addRuns(mine, access, argumentOf(access.allocation), 0, AccessRun{0, 0, 0, 0}, nullptr);
  mine.runs[mine.firstOfBlock].maskedLanes = static_cast<uint32_t>(
      access.lanes - access.activeLanes - static_cast<int64_t>(mine.refusedLanes));
  mine.blockBegun = false;
  mine.refusedLanes = 0;
  if (options_.values && access.activeLanes > 0)
    addValues(mine, access, firstRun);
  if (plan_)
    addTraffic(mine, access);
  if (mine.runs.size() >= kFlushRuns)
    flush(mine);
}

void TraceRecorder::onRefusedLanes(const Access &access, llvm::ArrayRef<RefusedLane> lanes) {
  Worker &mine = worker(access.worker);
  noteOp(mine, *access.op);
  mine.refusedLanes += lanes.size();
  for (size_t begin = 0; begin < lanes.size();) {
    const RefusedLane &first = lanes[begin];
    size_t end = begin + 1;
    const uint64_t step = end < lanes.size() ? lanes[end].address - first.address : 0;
    while (end < lanes.size() && lanes[end].allocation == first.allocation &&
           lanes[end].reason == first.reason && canStep(first.address, first.address + step) &&
           lanes[end].address - lanes[end - 1].address == step)
      ++end;
    const AccessRun run = {first.lane, static_cast<int64_t>(end - begin), first.address,
                           static_cast<int64_t>(step)};
    bool outside = first.allocation == nullptr;
    for (size_t at = begin; at < end && !outside; ++at)
      outside = !first.allocation->inStorage(
          MemoryMap::offsetIn(*first.allocation, lanes[at].address), access.elementBytes);
    addRuns(mine, access, argumentOf(first.allocation),
            outside ? kTraceOutsideView | kTraceOutsideStorage : 0, run, first.allocation);
    begin = end;
  }
}

void TraceRecorder::onProgramEnd(int64_t /*program*/, int workerIndex) {
  Worker &mine = worker(workerIndex);
  if (mine.runs.size() >= kFlushRuns / 2)
    flush(mine);
}

void TraceRecorder::onLaunchRepeat() {
  workers_.clear();
  info_ = nullptr;
  memory_ = nullptr;
  launchPending_ = false;
  writer_->dropLaunch();
}

void TraceRecorder::onLaunchEnd() {
  if (!launchPending_)
    return;
  for (const std::unique_ptr<Worker> &each : workers_) {
    flush(*each);
    for (const OpInfo *op : each->ops) {
      if (op == nullptr)
        continue;
      if (launch_.ops.size() <= op->id)
        launch_.ops.resize(op->id + 1);
      const SourceLocation &at = op->location;
      for (const SourceLocation *call = at.caller.get(); call; call = call->caller.get())
        sourceOf(call->file);
      launch_.ops[op->id] = {op->name,     opKind(op->name), at.isKnown() ? sourceOf(at.file) : -1,
                             at.line,      at.column,        at.variable,
                             callChain(at)};
    }
  }
  if (info_)
    for (const std::string &file : info_->files)
      sourceOf(file);
  if (plan_)
    addPrediction();
  info_ = nullptr;
  workers_.clear();
  memory_ = nullptr;
}

/// Number of a file in the trace, with its text when it is new.
int32_t TraceRecorder::sourceOf(const std::string &file) {
  const auto [entry, isNew] = sources_.try_emplace(file, -1);
  if (isNew)
    entry->second = writer_->addSource({file, sourceText(file).value_or(""), 1});
  return entry->second;
}

/// A place as rows of the trace. The programs of another launch are none of this one.
TracePlace TraceRecorder::placeOf(const Site &site, const TraceLaunch *launch) {
  TracePlace place;
  place.role = site.role;
  place.source = site.location.isKnown() ? sourceOf(site.location.file) : -1;
  place.line = site.location.line;
  place.column = site.location.column;
  if (launch)
    place.op = opAt(*launch, place, callChain(site.location));
  if (!site.execution)
    return place;
  const Execution &ran = *site.execution;
  if (launch)
    place.program = programNumber(*launch, ran);
  if (ran.access)
    place.access = accessKindName(*ran.access).str();
  place.lane = laneText(ran);
  if (!ran.loopIterations.empty())
    place.loop = listText(ran.loopIterations);
  place.value = ran.value;
  return place;
}

/// The shares of lines, of a finding that has any.
void TraceRecorder::addShares(TraceFinding &row, const Finding &finding) {
  for (const auto &each : finding.shares)
    row.lineShares.push_back(
        {each.location.isKnown() ? sourceOf(each.location.file) : -1, each.location.line,
         static_cast<int32_t>(std::clamp(each.share, 0.0, 1.0) * 1000 + 0.5), each.what});
}

/// Who waits for whom, in a launch that was recorded.
void TraceRecorder::addWaits(TraceFinding &row, const Finding &finding) {
  if (!finding.waiting || !finding.launch)
    return;
  const auto number = [&](const std::array<int32_t, 3> &program) {
    const std::array<int32_t, 3> &grid = finding.launch->grid;
    return program[0] + int64_t{grid[0]} * (program[1] + int64_t{grid[1]} * program[2]);
  };
  for (const Wait &wait : finding.waiting->waits)
    row.waits.push_back({number(wait.program),
                         wait.location.isKnown() ? sourceOf(wait.location.file) : -1,
                         wait.location.line, wait.holder ? number(wait.holder->program) : -1,
                         waitText(finding, wait), holderText(finding, wait)});
}

void TraceRecorder::addFindings(llvm::ArrayRef<CollectedFinding> findings) {
  endPendingLaunch();
  if (ended_.empty())
    return;
  std::vector<int64_t> left(ended_.size(), kMaxFindingElements);
  for (const auto &[finding, elements] : findings) {
    size_t number = ended_.size() - 1;
    bool isElsewhere = finding.launch.has_value();
    for (size_t each = 0; each < ended_.size(); ++each)
      if (finding.launch && ended_[each].launchIndex == finding.launch->index) {
        number = each;
        isElsewhere = false;
      }
    const TraceLaunch *launch = isElsewhere ? nullptr : &ended_[number].launch;
    TraceFinding row;
    static_cast<Finding &>(row) = finding;
    row.json = findingAsJson(finding);
    row.isElsewhere = isElsewhere;
    row.places.push_back(placeOf(finding.site, launch));
    for (const Site &site : finding.related)
      row.places.push_back(placeOf(site, launch));
    row.source = row.places.front().source;
    row.op = row.places.front().op;
    row.program = row.places.front().program;
    if (finding.element)
      row.elementOffsetBytes = finding.element->byteOffset;
    if (launch && finding.element)
      row.argument = argumentNamed(*launch, finding.element->tensor.name);
    if (launch)
      addElements(row, *launch, elements, left[number]);
    addShares(row, finding);
    if (launch)
      addWaits(row, finding);
    writer_->addFinding(number, std::move(row));
  }
}

void TraceRecorder::endPendingLaunch() {
  if (!launchPending_)
    return;
  onLaunchEnd();
  launchPending_ = false;
  if (writer_->endLaunch(launch_, std::move(values_)))
    ended_.push_back({launchIndex_, std::move(launch_)});
}

bool TraceRecorder::close() {
  endPendingLaunch();
  return writer_->close();
}

} // namespace blockscope::sanitizer
