// Folding of access events into trace runs.
#include "sanitizer/trace_recorder.h"

#include "core/report.h"
#include "core/source_text.h"
#include "core/trace/trace_check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

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

} // namespace

/// What one worker has recorded and not yet written.
struct TraceRecorder::Worker {
  std::vector<TraceRun> runs;
  std::vector<const OpInfo *> ops; ///< by id, null when not met
  std::vector<AccessRun> badRuns;
  bool blockBegun = false; ///< refused lanes of the coming access are recorded already
  size_t firstOfBlock = 0; ///< index of its first run
  size_t refusedLanes = 0;
};

TraceRecorder::TraceRecorder(std::unique_ptr<TraceWriter> writer) : writer_(std::move(writer)) {}

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

void TraceRecorder::onAccess(const Access &access) {
  Worker &mine = worker(access.worker);
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
  if (mine.runs.size() >= kFlushRuns) {
    writer_->appendRuns(mine.runs);
    mine.runs.clear();
  }
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
  if (mine.runs.size() < kFlushRuns / 2)
    return;
  writer_->appendRuns(mine.runs);
  mine.runs.clear();
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
    writer_->appendRuns(each->runs);
    each->runs.clear();
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
    writer_->addFinding(number, std::move(row));
  }
}

void TraceRecorder::endPendingLaunch() {
  if (!launchPending_)
    return;
  onLaunchEnd();
  launchPending_ = false;
  if (writer_->endLaunch(launch_))
    ended_.push_back({launchIndex_, std::move(launch_)});
}

bool TraceRecorder::close() {
  endPendingLaunch();
  return writer_->close();
}

} // namespace blockscope::sanitizer
