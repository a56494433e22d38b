// Opening a launch and answering questions about it.
#include "viz/model/trace_model.h"

#include "viz/model/finding_story.h"
#include "viz/model/gpu_view.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace blockscope::viz {
namespace {

constexpr int64_t kMaxPrograms = int64_t{1} << 26;
constexpr size_t kRowsPerBlock = 4096;
constexpr size_t kMaxLaunchesSearched = 200;

uint32_t saturatingAdd(uint32_t value, uint64_t more) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(value + more, std::numeric_limits<uint32_t>::max()));
}

void add(AccessCounts &counts, const TraceRun &run, uint64_t elements, uint64_t outside) {
  switch (run.kind) {
  case TraceAccessKind::Read:
    counts.loads += elements;
    break;
  case TraceAccessKind::Write:
    counts.stores += elements;
    break;
  case TraceAccessKind::Atomic:
    counts.atomics += elements;
    break;
  }
  counts.outside += outside;
  counts.masked += run.maskedLanes;
  counts.blocks += (run.flags & kTraceFirstOfBlock) != 0 ? 1 : 0;
}

/// Bytes from the lowest to one past the highest that a run touches.
std::pair<int64_t, int64_t> extentOf(const TraceRun &run) {
  const int64_t inner = (int64_t{run.innerCount} - 1) * run.innerStrideBytes;
  const int64_t outer = (int64_t{run.outerCount} - 1) * run.outerStrideBytes;
  return {run.offsetBytes + std::min<int64_t>(0, inner) + std::min<int64_t>(0, outer),
          run.offsetBytes + std::max<int64_t>(0, inner) + std::max<int64_t>(0, outer) +
              std::max<int64_t>(1, run.elementBytes)};
}

/// Which of `count` accesses of `width` bytes at offset, offset + stride, ... touch [begin, end):
/// from the first to one past the last.
std::pair<int64_t, int64_t> touching(int64_t offset, int64_t stride, int64_t count, int64_t width,
                                     int64_t begin, int64_t end) {
  if (count <= 0)
    return {0, 0};
  if (stride < 0) {
    const auto [first, last] =
        touching(offset + (count - 1) * stride, -stride, count, width, begin, end);
    return {count - last, count - first};
  }
  if (stride == 0)
    return {0, offset < end && offset + width > begin ? count : 0};
  const int64_t first = std::max<int64_t>(0, floorDivide(begin - width - offset, stride) + 1);
  const int64_t last = std::min<int64_t>(count - 1, floorDivide(end - 1 - offset, stride));
  return {first, std::max(first, last + 1)};
}

uint64_t countTouching(int64_t offset, int64_t stride, int64_t count, int64_t width, int64_t begin,
                       int64_t end) {
  const auto [first, last] = touching(offset, stride, count, width, begin, end);
  return static_cast<uint64_t>(last - first);
}

/// How many of `count` offsets, from `first` on `stride` apart, are in [begin, end).
uint64_t countWithin(int64_t first, int64_t stride, int64_t count, int64_t begin, int64_t end) {
  return countTouching(first, stride, count, 1, begin, end);
}

/// How often counting a run goes on from element to element, or from row to row.
uint64_t stepsOf(const TraceRun &run, const TensorLayout &layout) {
  return layout.isDense() && layout.isRunOfNeighbours(run)
             ? run.outerCount
             : uint64_t{run.innerCount} * run.outerCount;
}

/// Joins slots that follow one another to segments of rows.
class SegmentBuilder {
public:
  SegmentBuilder(const Plane &plane, MarkKind kind, int finding, std::vector<MarkSegment> &to)
      : plane_(plane), kind_(kind), finding_(finding), to_(to), begin_(to.size()) {}

  void add(int64_t slot) {
    const std::optional<Cell> cell = plane_.cellOf(slot);
    if (!cell || !plane_.contains(*cell))
      return;
    if (to_.size() > begin_ && to_.back().first.row == cell->row &&
        to_.back().first.column + to_.back().columns == cell->column)
      ++to_.back().columns;
    else
      to_.push_back({*cell, 1, kind_, finding_});
  }

private:
  const Plane &plane_;
  MarkKind kind_;
  int finding_;
  std::vector<MarkSegment> &to_;
  size_t begin_;
};

size_t firstWithFindings(const TraceReader &reader) {
  std::string ignored; // a broken launch is told of when it is opened
  for (size_t launch = 0; launch < std::min(reader.launchCount(), kMaxLaunchesSearched); ++launch) {
    const std::optional<TraceLaunch> tables = reader.readLaunch(launch, ignored);
    if (tables && !tables->findings.empty())
      return launch;
  }
  return 0;
}

} // namespace

struct TraceModel::FootprintCache {
  int argument;
  RunFilter filter;
  HeatMap heat;
  std::map<int64_t, ReducedPlanes> reduced; ///< by slice
};

TraceModel::TraceModel() = default;
TraceModel::~TraceModel() = default;

AccessCounts &AccessCounts::operator+=(const AccessCounts &other) {
  loads += other.loads;
  stores += other.stores;
  atomics += other.atomics;
  outside += other.outside;
  masked += other.masked;
  blocks += other.blocks;
  return *this;
}

std::unique_ptr<TraceModel> TraceModel::open(const std::string &path, std::optional<size_t> launch,
                                             std::string &error, const TraceLimits &limits) {
  const std::unique_ptr<TraceReader> reader = TraceReader::open(path, error, limits);
  if (!reader)
    return nullptr;
  if (reader->launchCount() == 0) {
    error = "trace file '" + path + "': holds no launch; was a kernel launched while it recorded?";
    return nullptr;
  }
  const size_t number = launch ? *launch : firstWithFindings(*reader);
  std::optional<TraceLaunch> tables = reader->readLaunch(number, error);
  if (!tables)
    return nullptr;
  std::optional<TraceAccesses> accesses = reader->readAccesses(number, *tables, error);
  if (!accesses)
    return nullptr;
  std::optional<TraceValues> values = reader->readValues(number, *accesses, error);
  if (!values)
    return nullptr;
  std::string problem;
  auto model = make(std::move(*tables), std::move(*accesses), reader->sources(), limits, problem,
                    std::move(*values));
  if (!model) {
    error = "trace file '" + path + "': " + problem;
    return nullptr;
  }
  model->path_ = path;
  model->launchCount_ = reader->launchCount();
  model->launchIndex_ = number;
  return model;
}

std::unique_ptr<TraceModel> TraceModel::make(TraceLaunch launch, TraceAccesses accesses,
                                             std::vector<TraceSource> sources,
                                             const TraceLimits &limits, std::string &error,
                                             TraceValues values) {
  auto model = std::make_unique<TraceModel>();
  model->values_ = std::move(values);
  model->launch_ = std::move(launch);
  model->accesses_ = std::move(accesses);
  model->sources_ = std::move(sources);
  for (const TraceArgument &argument : model->launch_.arguments)
    model->layouts_.emplace_back(argument);
  if (!model->isCountable(limits, error))
    return nullptr;
  model->maxSlots_ = std::min(kMaxSlots, limits.heatMapSlots());
  MemoryBudget budget = limits.forCounts();
  if (!model->summarize(budget)) {
    error = "needs " + budget.excuse();
    return nullptr;
  }
  return model;
}

/// Whether the runs can be counted in the time of a coffee.
bool TraceModel::isCountable(const TraceLimits &limits, std::string &error) const {
  if (launch_.programCount() > kMaxPrograms) {
    error = "has " + std::to_string(launch_.programCount()) + " programs, at most " +
            std::to_string(kMaxPrograms) + " can be shown";
    return false;
  }
  uint64_t steps = 0;
  for (size_t row = 0; row < accesses_.rows; ++row)
    if (const TraceRun run = accesses_[row]; run.argument >= 0)
      steps += stepsOf(run, layout(run.argument));
  if (steps <= limits.singleElements)
    return true;
  error = "has " + std::to_string(steps) + " accesses of single elements, at most " +
          std::to_string(limits.singleElements) + " can be counted";
  return false;
}

uint64_t TraceModel::outsideElements(const TraceRun &run) const {
  const uint64_t elements = uint64_t{run.innerCount} * run.outerCount;
  if (run.argument < 0 || elements == 0)
    return 0;
  const TensorLayout &layout = this->layout(run.argument);
  const int64_t begin = layout.offsetBytesOf(0);
  const int64_t end = layout.offsetBytesOf(layout.slotCount());
  const auto [lowest, highest] = extentOf(run);
  if (lowest >= begin && highest <= end && layout.isDense())
    return 0;
  if (highest <= begin || lowest >= end)
    return elements;
  const int64_t width = std::max<int64_t>(1, run.elementBytes);
  uint64_t outside = 0;
  for (int64_t row = 0; row < run.outerCount; ++row) {
    const int64_t first = run.offsetBytes + row * run.outerStrideBytes;
    if (layout.isDense()) {
      outside += run.innerCount -
                 countWithin(first, run.innerStrideBytes, run.innerCount, begin, end - width + 1);
      continue;
    }
    for (int64_t column = 0; column < run.innerCount; ++column) {
      const int64_t at = first + column * run.innerStrideBytes;
      outside +=
          layout.isElement(layout.slotOf(at)) && layout.isElement(layout.slotOf(at + width - 1))
              ? 0
              : 1;
    }
  }
  return outside;
}

bool TraceModel::summarize(MemoryBudget &budget) {
  for (size_t index = 0; index < launch_.arguments.size(); ++index)
    if (launch_.arguments[index].isTensor() && layouts_[index].slotCount() <= maxSlots_ &&
        layouts_[index].elementCount() <= kMaxElements)
      tensors_.push_back(static_cast<int>(index));
  size_t segments = 0;
  for (size_t row = 0; row < accesses_.rows; ++row)
    segments += row == 0 || accesses_.program[row] != accesses_.program[row - 1] ? 1 : 0;
  const auto programs = static_cast<uint64_t>(launch_.programCount());
  if (!budget.take(launch_.ops.size(), 2 * sizeof(AccessCounts)) ||
      !budget.take(launch_.arguments.size(), sizeof(AccessCounts)) ||
      !budget.take(programs, sizeof(ProgramCounts)) ||
      !budget.take(segments, sizeof(segments_[0]) + sizeof(segmentsByProgram_[0])))
    return false;
  opCounts_.resize(launch_.ops.size());
  argumentCounts_.resize(launch_.arguments.size());
  programCounts_.resize(programs);
  segments_.reserve(segments);
  for (size_t row = 0; row < accesses_.rows; ++row) {
    const TraceRun run = accesses_[row];
    const uint64_t elements = uint64_t{run.innerCount} * run.outerCount;
    const uint64_t outside = outsideElements(run);
    add(opCounts_[run.op], run, elements, outside);
    if (run.argument >= 0)
      add(argumentCounts_[static_cast<size_t>(run.argument)], run, elements, outside);
    else
      strayAccesses_ += elements;
    ProgramCounts &program = programCounts_[run.program];
    program.accesses = saturatingAdd(program.accesses, elements);
    program.outside = saturatingAdd(program.outside, run.argument >= 0 ? outside : elements);
    if (segments_.empty() || segments_.back().second != run.program)
      segments_.emplace_back(row, run.program);
  }
  for (const AccessCounts &counts : opCounts_)
    total_ += counts;
  segmentsByProgram_.resize(segments_.size());
  std::iota(segmentsByProgram_.begin(), segmentsByProgram_.end(), 0U);
  std::sort(segmentsByProgram_.begin(), segmentsByProgram_.end(),
            [this](uint32_t left, uint32_t right) {
              return std::make_pair(segments_[left].second, left) <
                     std::make_pair(segments_[right].second, right);
            });
  assignTensorsToOps();
  addLines();
  return true;
}

void TraceModel::addLines() {
  for (size_t op = 0; op < launch_.ops.size(); ++op)
    countsOfLine_[{launch_.ops[op].source, launch_.ops[op].line}] += opCounts_[op];
  for (size_t index = 0; index < launch_.findings.size(); ++index)
    findingsOfLine_[{launch_.findings[index].source, launch_.findings[index].site.location.line}]
        .push_back(index);
}

void TraceModel::assignTensorsToOps() {
  std::map<std::pair<uint32_t, int32_t>, uint64_t> rows;
  // Runs of one op mostly reach one tensor: the pair is looked up only when it changes.
  for (size_t row = 0, end = 0; row < accesses_.rows; row = end) {
    while (end < accesses_.rows && accesses_.op[end] == accesses_.op[row] &&
           accesses_.argument[end] == accesses_.argument[row])
      ++end;
    rows[{accesses_.op[row], accesses_.argument[row]}] += end - row;
  }
  tensorOfOp_.assign(launch_.ops.size(), -1);
  std::vector<uint64_t> most(launch_.ops.size(), 0);
  for (const auto &[pair, count] : rows)
    if (pair.second >= 0 && count > most[static_cast<size_t>(pair.first)]) {
      most[static_cast<size_t>(pair.first)] = count;
      tensorOfOp_[static_cast<size_t>(pair.first)] = pair.second;
    }
}

bool TraceModel::isShown(int argument) const {
  return std::binary_search(tensors_.begin(), tensors_.end(), argument);
}

AccessCounts TraceModel::lineCounts(int source, int line) const {
  const auto found = countsOfLine_.find({source, line});
  return found != countsOfLine_.end() ? found->second : AccessCounts();
}

const std::vector<size_t> &TraceModel::findingsOfLine(int source, int line) const {
  static const std::vector<size_t> none;
  const auto found = findingsOfLine_.find({source, line});
  return found != findingsOfLine_.end() ? found->second : none;
}

TraceModel::RowRanges TraceModel::rowsOf(int64_t program) const {
  if (program < 0)
    return {{0, accesses_.rows}};
  const auto wanted = static_cast<uint32_t>(program);
  auto at = std::lower_bound(
      segmentsByProgram_.begin(), segmentsByProgram_.end(), wanted,
      [this](uint32_t segment, uint32_t value) { return segments_[segment].second < value; });
  RowRanges ranges;
  for (; at != segmentsByProgram_.end() && segments_[*at].second == wanted; ++at)
    ranges.emplace_back(segments_[*at].first,
                        *at + 1 < segments_.size() ? segments_[*at + 1].first : accesses_.rows);
  return ranges;
}

std::vector<AccessCounts> TraceModel::opCountsOf(int64_t program) const {
  std::vector<AccessCounts> counts(launch_.ops.size());
  for (const auto &[begin, end] : rowsOf(program))
    for (size_t row = begin; row < end; ++row) {
      const TraceRun run = accesses_[row];
      add(counts[run.op], run, uint64_t{run.innerCount} * run.outerCount, outsideElements(run));
    }
  return counts;
}

std::array<int64_t, 3> TraceModel::programIndex(int64_t program) const {
  const auto &grid = launch_.grid;
  return {program % grid[0], program / grid[0] % grid[1], program / grid[0] / grid[1]};
}

const HeatMap &TraceModel::heat(int argument) const {
  const auto found = heats_.find(argument);
  if (found != heats_.end())
    return found->second;
  int64_t kept = layout(argument).slotCount();
  for (const auto &[other, heat] : heats_)
    kept += layout(other).slotCount();
  if (kept > maxSlots_) { // all are made again when they are asked for
    reduced_.clear();
    outsideCells_.clear();
    heats_.clear();
  }
  return heats_
      .emplace(argument, HeatMap(layout(argument), accesses_, argument, {}, {{0, accesses_.rows}}))
      .first->second;
}

const HeatMap &TraceModel::footprint(int argument, RunFilter filter) const {
  if (!footprint_ || footprint_->argument != argument || !(footprint_->filter == filter))
    footprint_ = std::make_unique<FootprintCache>(FootprintCache{
        argument,
        filter,
        HeatMap(layout(argument), accesses_, argument, filter, rowsOf(filter.program)),
        {}});
  return footprint_->heat;
}

TimedHeat &TraceModel::timedHeat(int argument, int64_t slice, HeatMode mode) const {
  const std::tuple<int, int64_t, HeatMode> key = {argument, slice, mode};
  if (const auto found = timed_.find(key); found != timed_.end())
    return found->second;
  timed_.clear();
  return timed_
      .try_emplace(key, layout(argument), plane(argument, slice), accesses_, argument, mode)
      .first->second;
}

const Plane &TraceModel::plane(int argument, int64_t slice) const {
  return planes_.try_emplace({argument, slice}, layout(argument), slice).first->second;
}

const OutsideCells &TraceModel::outsideCells(int argument, int64_t slice) const {
  const auto found = outsideCells_.find({argument, slice});
  if (found != outsideCells_.end())
    return found->second;
  return outsideCells_
      .emplace(std::make_pair(argument, slice),
               placeOutside(plane(argument, slice), heat(argument)))
      .first->second;
}

ReducedPlanes &TraceModel::reduced(int argument, int64_t slice, HeatMode mode) const {
  return reduced_.try_emplace({argument, slice, mode}, plane(argument, slice), heat(argument), mode)
      .first->second;
}

ReducedPlanes &TraceModel::reducedFootprint(int argument, int64_t slice, RunFilter filter) const {
  const HeatMap &heat = footprint(argument, filter);
  return footprint_->reduced.try_emplace(slice, plane(argument, slice), heat, HeatMode::Both)
      .first->second;
}

const std::vector<TraceModel::RowBlock> &TraceModel::rowBlocks(int argument) const {
  const auto [entry, isNew] = rowBlocks_.try_emplace(argument);
  std::vector<RowBlock> &blocks = entry->second;
  if (!isNew)
    return blocks;
  for (size_t begin = 0; begin < accesses_.rows; begin += kRowsPerBlock) {
    RowBlock block{begin, std::min(begin + kRowsPerBlock, accesses_.rows),
                   std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (size_t row = block.begin; row < block.end; ++row) {
      if (accesses_.argument[row] != argument)
        continue;
      const auto [lowest, highest] = extentOf(accesses_[row]);
      block.lowest = std::min(block.lowest, lowest);
      block.highest = std::max(block.highest, highest);
    }
    if (block.lowest < block.highest)
      blocks.push_back(block);
  }
  return blocks;
}

std::optional<size_t> TraceModel::lastRowOf(int64_t program) const {
  const RowRanges ranges = program < 0 ? RowRanges() : rowsOf(program);
  return ranges.empty() ? std::nullopt : std::optional(ranges.back().second - 1);
}

const std::vector<MarkSegment> &TraceModel::marks(int argument, int64_t slice, int finding) const {
  const std::tuple<int, int64_t, int> key = {argument, slice, finding};
  if (const auto found = marks_.find(key); found != marks_.end())
    return found->second;
  marks_.clear();
  std::vector<MarkSegment> segments;
  const Plane &plane = this->plane(argument, slice);
  const int count = static_cast<int>(launch_.findings.size());
  for (int each = 0; each < count; ++each)
    if (finding < 0 || each == finding)
      addMarks(argument, plane, each, segments);
  if (finding >= 0 && finding < count)
    for (const auto &[role, kind] : {std::pair(SiteRole::Here, MarkKind::SideA),
                                     std::pair(SiteRole::OtherSide, MarkKind::SideB)}) {
      const TraceFinding &chosen = launch_.findings[static_cast<size_t>(finding)];
      const auto place = std::find_if(chosen.places.begin(), chosen.places.end(),
                                      [role](const TracePlace &at) { return at.role == role; });
      if (place == chosen.places.end() || !hasSides(chosen))
        continue;
      std::vector<MarkSegment> side;
      addSide(argument, plane, finding, *place, kind, side);
      segments.insert(segments.begin(), side.begin(), side.end()); // where they meet lies on top
    }
  return marks_.emplace(key, std::move(segments)).first->second;
}

void TraceModel::addMarks(int argument, const Plane &plane, int finding,
                          std::vector<MarkSegment> &segments) const {
  const TensorLayout &layout = this->layout(argument);
  const TraceFinding &marked = launch_.findings[static_cast<size_t>(finding)];
  SegmentBuilder builder(plane, markOf(marked.code), finding, segments);
  for (const TraceElements &run : marked.elements)
    if (run.argument == argument)
      for (int64_t row = 0; row < run.outerCount; ++row) {
        const int64_t first = layout.slotOf(run.offsetBytes + row * run.outerStrideBytes);
        for (int64_t slot = first; slot < first + run.innerCount; ++slot)
          builder.add(slot);
      }
}

/// The elements that one op touched in one program.
void TraceModel::addSide(int argument, const Plane &plane, int finding, const TracePlace &place,
                         MarkKind kind, std::vector<MarkSegment> &segments) const {
  constexpr uint64_t kMost = uint64_t{1} << 20;
  const TensorLayout &layout = this->layout(argument);
  SegmentBuilder builder(plane, kind, finding, segments);
  uint64_t elements = 0;
  for (const auto &[begin, end] : place.program < 0 ? RowRanges() : rowsOf(place.program))
    for (size_t row = begin; row < end; ++row) {
      const TraceRun run = accesses_[row];
      if (run.argument != argument || static_cast<int64_t>(run.op) != place.op)
        continue;
      elements += uint64_t{run.innerCount} * run.outerCount;
      if (elements > kMost)
        return;
      for (int64_t outer = 0; outer < run.outerCount; ++outer)
        for (int64_t inner = 0; inner < run.innerCount; ++inner)
          builder.add(layout.slotOf(run.offsetBytes + outer * run.outerStrideBytes +
                                    inner * run.innerStrideBytes));
    }
}

const ElementStory &TraceModel::storyOf(int argument, int64_t slot) const {
  if (!story_ || std::get<0>(*story_) != argument || std::get<1>(*story_) != slot)
    story_ = {argument, slot, makeStory(argument, slot)};
  return std::get<2>(*story_);
}

const Roofline &TraceModel::roofline() const {
  if (!roofline_)
    roofline_ = std::make_unique<Roofline>(rooflineOf(*this));
  return *roofline_;
}

const ElementHistory &TraceModel::history(int argument, int64_t slot) const {
  if (!history_ || std::get<0>(*history_) != argument || std::get<1>(*history_) != slot)
    history_ = {argument, slot, historyOf(*this, argument, slot)};
  return std::get<2>(*history_);
}

std::pair<int64_t, int64_t> TraceModel::lanesAt(int argument, int64_t slot, const TraceRun &run,
                                                int64_t outer) const {
  const TensorLayout &layout = this->layout(argument);
  const int64_t begin = layout.offsetBytesOf(slot);
  return touching(run.offsetBytes + outer * run.outerStrideBytes, run.innerStrideBytes,
                  run.innerCount, std::max<int64_t>(1, run.elementBytes), begin,
                  begin + layout.elementBytes());
}

void TraceModel::forEachRunAt(int argument, int64_t slot,
                              const std::function<void(size_t, const TraceRun &)> &visit) const {
  const TensorLayout &layout = this->layout(argument);
  const int64_t begin = layout.offsetBytesOf(slot);
  const int64_t end = begin + layout.elementBytes();
  for (const RowBlock &block : rowBlocks(argument)) {
    if (block.highest <= begin || block.lowest >= end)
      continue;
    for (size_t row = block.begin; row < block.end; ++row) {
      const int64_t offset = accesses_.offsetBytes[row];
      if (accesses_.argument[row] != argument)
        continue;
      if (offset >= end && accesses_.innerStrideBytes[row] >= 0 &&
          accesses_.outerStrideBytes[row] >= 0)
        continue;
      const TraceRun run = accesses_[row];
      const auto [lowest, highest] = extentOf(run);
      if (highest > begin && lowest < end)
        visit(row, run);
    }
  }
}

ElementStory TraceModel::makeStory(int argument, int64_t slot) const {
  ElementStory story;
  std::map<int32_t, uint64_t> ops;
  forEachRunAt(argument, slot, [&](size_t /*row*/, const TraceRun &run) {
    uint64_t hits = 0;
    for (int64_t outer = 0; outer < run.outerCount; ++outer) {
      const auto [first, last] = lanesAt(argument, slot, run, outer);
      hits += static_cast<uint64_t>(last - first);
    }
    if (hits == 0)
      return;
    (run.kind == TraceAccessKind::Read    ? story.counts.loads
     : run.kind == TraceAccessKind::Write ? story.counts.stores
                                          : story.counts.atomics) += static_cast<uint32_t>(hits);
    ops[static_cast<int32_t>(run.op)] += hits;
    if (story.programs.empty() || story.programs.back() != run.program)
      story.programs.push_back(run.program);
  });
  story.ops.assign(ops.begin(), ops.end());
  std::sort(story.programs.begin(), story.programs.end());
  story.programs.erase(std::unique(story.programs.begin(), story.programs.end()),
                       story.programs.end());
  story.programCount = story.programs.size();
  if (story.programs.size() > ElementStory::kMaxPrograms)
    story.programs.resize(ElementStory::kMaxPrograms);
  return story;
}

} // namespace blockscope::viz
