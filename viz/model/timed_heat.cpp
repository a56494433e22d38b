// Counting up and down between ranges of time.
#include "viz/model/timed_heat.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

constexpr size_t kMaxOutside = HeatMap::kMaxOutsidePlaces;

/// Whether the cells of a plane, row by row, are the slots from 0 on.
bool areSlotsInOrder(const Plane &plane) {
  const int64_t rows = plane.rows();
  return rows > 0 && plane.columnStride() == 1 && plane.rowSlot(0) == 0 &&
         (rows == 1 || (plane.rowSlot(1) == plane.columns() &&
                        plane.rowSlot(rows - 1) == (rows - 1) * plane.columns()));
}

} // namespace

/// Looks at the time only now and then.
class TimedHeat::Clock {
public:
  explicit Clock(std::chrono::nanoseconds budget)
      : isEndless_(budget == std::chrono::nanoseconds::max()),
        end_(std::chrono::steady_clock::now() +
             (isEndless_ ? std::chrono::nanoseconds() : budget)) {}
  /// Notes `steps` of counting; false when the time is over.
  bool hasTimeAfter(uint64_t steps) {
    constexpr uint64_t kStepsPerLook = 1 << 14;
    steps_ += steps;
    if (isEndless_ || steps_ < kStepsPerLook)
      return true;
    steps_ = 0;
    return std::chrono::steady_clock::now() < end_;
  }

private:
  bool isEndless_;
  std::chrono::steady_clock::time_point end_;
  uint64_t steps_ = 0;
};

TimedHeat::TimedHeat(const TensorLayout &layout, const Plane &plane, const TraceAccesses &accesses,
                     int argument, HeatMode mode)
    : layout_(&layout), plane_(&plane), accesses_(&accesses), argument_(argument), mode_(mode),
      counts_(static_cast<uint32_t *>(
          std::calloc(static_cast<size_t>(layout.slotCount()) + 1, sizeof(uint32_t)))),
      isRowMajor_(layout.isDense() && areSlotsInOrder(plane)) {
  if (!counts_)
    std::abort(); // as an allocation that fails anywhere else
}

bool TimedHeat::isCounted(size_t row) const {
  if (accesses_->argument[row] != argument_)
    return false;
  const auto kind = static_cast<TraceAccessKind>(accesses_->kind[row]);
  return mode_ == HeatMode::Both || kind == TraceAccessKind::Atomic ||
         (kind == TraceAccessKind::Read) == (mode_ == HeatMode::Reads);
}

/// Counts the rows [begin, end), from one end to the other, while there is time; `at` is then the
/// row where it stopped.
bool TimedHeat::count(size_t begin, size_t end, bool isBackwards, int delta, Clock &clock,
                      size_t &at) {
  for (size_t done = 0; done < end - begin; ++done) {
    const size_t row = isBackwards ? end - 1 - done : begin + done;
    uint64_t steps = 1;
    if (isCounted(row)) {
      const TraceRun run = (*accesses_)[row];
      addRun(run, delta);
      steps += uint64_t{run.innerCount} * run.outerCount;
    }
    at = isBackwards ? row : row + 1;
    if (!clock.hasTimeAfter(steps))
      return at == (isBackwards ? begin : end);
  }
  return true;
}

TimeRange TimedHeat::within(TimeRange range) const {
  range.end = std::min(std::max(range.begin, range.end), accesses_->rows);
  range.begin = std::min(range.begin, range.end);
  return range;
}

bool TimedHeat::goTo(TimeRange range, std::chrono::nanoseconds budget) {
  range = within(range);
  Clock clock(budget);
  bool isThere = true;
  if (range.end <= range_.begin || range.begin >= range_.end) { // nothing in common
    isThere = count(range_.begin, range_.end, true, -1, clock, range_.end);
    if (isThere)
      range_ = {range.begin, range.begin};
  }
  if (isThere && range_.end > range.end)
    isThere = count(range.end, range_.end, true, -1, clock, range_.end);
  if (isThere && range_.begin < range.begin)
    isThere = count(range_.begin, range.begin, false, -1, clock, range_.begin);
  if (isThere && range_.begin > range.begin)
    isThere = count(range.begin, range_.begin, true, 1, clock, range_.begin);
  if (isThere && range_.end < range.end)
    isThere = count(range_.end, range.end, false, 1, clock, range_.end);
  mendBlocks();
  return isThere;
}

/// As HeatMap counts it.
void TimedHeat::addRun(const TraceRun &run, int delta) {
  const bool isPlain = layout_->isRunOfElements(run);
  const bool areNeighbours = isPlain && run.innerStrideBytes == layout_->elementBytes();
  for (int64_t row = 0; row < run.outerCount; ++row) {
    const int64_t offset = run.offsetBytes + row * run.outerStrideBytes;
    if (areNeighbours) {
      addSlots(layout_->slotOf(offset), run.innerCount, delta);
      continue;
    }
    for (int64_t column = 0; column < run.innerCount; ++column) {
      const int64_t at = offset + column * run.innerStrideBytes;
      const int64_t first = layout_->slotOf(at);
      const int64_t last =
          isPlain ? first : layout_->slotOf(at + std::max<int64_t>(1, run.elementBytes) - 1);
      addSlots(first, last - first + 1, delta);
    }
  }
}

void TimedHeat::addSlots(int64_t slot, int64_t count, int delta) {
  const int64_t begin = std::clamp<int64_t>(slot, 0, layout_->slotCount());
  const int64_t end = std::clamp<int64_t>(slot + count, 0, layout_->slotCount());
  for (int64_t at = slot; at < std::min<int64_t>(0, slot + count); ++at)
    addOutside(at, delta);
  if (layout_->isDense()) {
    if (begin < end)
      addInside(begin, end - begin, delta);
  } else {
    for (int64_t at = begin; at < end; ++at)
      if (layout_->isElement(at))
        addInside(at, 1, delta);
      else
        addOutside(at, delta);
  }
  for (int64_t at = std::max(slot, layout_->slotCount()); at < slot + count; ++at)
    addOutside(at, delta);
}

void TimedHeat::addOutside(int64_t slot, int delta) {
  const auto found = outside_.find(slot);
  if (found != outside_.end())
    found->second += static_cast<uint32_t>(delta);
  else if (delta > 0 && outside_.size() < kMaxOutside)
    outside_.emplace(slot, 1);
}

uint32_t TimedHeat::outsideValue(int64_t slot) const {
  const auto found = outside_.find(slot);
  return found != outside_.end() ? found->second : 0;
}

/// Slots of elements, by rows of the plane.
void TimedHeat::addInside(int64_t slot, int64_t count, int delta) {
  while (count > 0) {
    std::optional<Cell> cell;
    int64_t length = 1;
    if (isRowMajor_) {
      cell = Cell{slot / plane_->columns(), slot % plane_->columns()};
      length = std::min(count, plane_->columns() - cell->column);
    } else if ((cell = plane_->cellOf(slot)) && plane_->contains(*cell)) {
      if (plane_->columnStride() == 1)
        length = std::min(count, plane_->columnsOf(cell->row) - cell->column);
    } else { // of another slice
      counts_.get()[slot] += static_cast<uint32_t>(delta);
      ++slot;
      --count;
      continue;
    }
    addCells(slot, *cell, length, delta);
    slot += length;
    count -= length;
  }
}

/// Neighbours in one row of the plane, by blocks.
void TimedHeat::addCells(int64_t slot, Cell cell, int64_t count, int delta) {
  uint32_t *counts = counts_.get() + slot;
  if (blocks_.values.empty()) {
    for (int64_t at = 0; at < count; ++at)
      counts[at] += static_cast<uint32_t>(delta);
    return;
  }
  const auto first = static_cast<size_t>((cell.row >> shifts_.row) * blocks_.columns);
  const int64_t mask = (int64_t{1} << shifts_.column) - 1;
  for (int64_t at = 0; at < count;) {
    const int64_t column = cell.column + at;
    const int64_t end = std::min(count, at + mask + 1 - (column & mask));
    const size_t block = first + static_cast<size_t>(column >> shifts_.column);
    uint32_t greatest = 0;
    for (; at < end; ++at) {
      const uint32_t before = counts[at];
      counts[at] = before + static_cast<uint32_t>(delta);
      greatest = std::max(greatest, delta > 0 ? before + 1 : before);
    }
    if (delta > 0) {
      blocks_.values[block] = std::max(blocks_.values[block], greatest);
    } else if (greatest == blocks_.values[block] && !isLowered_[block]) {
      isLowered_[block] = true;
      lowered_.push_back(block);
    }
  }
}

uint32_t TimedHeat::maximumOf(size_t block) const {
  const auto number = static_cast<int64_t>(block);
  const int64_t top = number / blocks_.columns << shifts_.row;
  const int64_t left = number % blocks_.columns << shifts_.column;
  uint32_t greatest = 0;
  for (int64_t row = top; row < std::min(plane_->rows(), top + (int64_t{1} << shifts_.row));
       ++row) {
    const int64_t slot = plane_->rowSlot(row);
    const int64_t end = std::min(plane_->columnsOf(row), left + (int64_t{1} << shifts_.column));
    for (int64_t column = left; column < end; ++column)
      greatest = std::max(greatest, value(slot + column * plane_->columnStride()));
  }
  return greatest;
}

void TimedHeat::mendBlocks() {
  for (const size_t block : lowered_) {
    blocks_.values[block] = maximumOf(block);
    isLowered_[block] = false;
  }
  lowered_.clear();
}

const ReducedPlane &TimedHeat::reduced(BlockShifts shifts) {
  if (shifts == shifts_ && !blocks_.values.empty())
    return blocks_;
  shifts_ = shifts;
  blocks_.rows = (plane_->rows() + (int64_t{1} << shifts.row) - 1) >> shifts.row;
  blocks_.columns = (plane_->columns() + (int64_t{1} << shifts.column) - 1) >> shifts.column;
  const auto count = static_cast<size_t>(blocks_.rows * blocks_.columns);
  blocks_.values.assign(count, 0);
  isLowered_.assign(count, false);
  if (!(range_ == TimeRange{range_.begin, range_.begin}))
    for (size_t block = 0; block < count; ++block)
      blocks_.values[block] = maximumOf(block);
  return blocks_;
}

} // namespace blockscope::viz
