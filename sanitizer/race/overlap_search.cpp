// Sorts and sweeps footprints.
#include "sanitizer/race/overlap_search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace blockscope::sanitizer {

namespace {

constexpr size_t kLogEntries = 1 << 16; // of a worker before they are settled
constexpr uint64_t kMostRows = 1 << 25; // that tiles are written out to
constexpr uint32_t kMostPatterns = 1 << 20;

constexpr uint32_t bit(Touch touch) { return 1U << static_cast<uint32_t>(touch); }

/// The kinds that conflict with this one.
uint32_t rivals(Touch touch) {
  constexpr uint32_t kAll = (1U << kTouches) - 1;
  switch (touch) {
  case Touch::Read:
    return kAll & ~bit(Touch::Read);
  case Touch::Write:
    return kAll;
  case Touch::Atomic1:
  case Touch::Atomic2:
  case Touch::Atomic4:
  case Touch::Atomic8:
    return kAll & ~bit(touch);
  }
  return kAll;
}

} // namespace

/// What one program touches: bytes [begin, end), or the rows of a pattern that begins there.
struct OverlapSearch::Footprint {
  uint64_t begin, end;
  uint32_t program;
  Touch touch;
  uint32_t pattern; ///< 0: all bytes

  bool operator<(const Footprint &other) const { return begin < other.begin; }
};

struct alignas(64) OverlapSearch::Worker {
  std::vector<Footprint> log;
  RowPattern lastPattern;
  uint32_t lastNumber = 0;

  void sort() {
    if (!llvm::is_sorted(log))
      llvm::sort(log);
  }
};

/// What lies to the left of a sweep, by kind: how far it reaches, for the program that reaches
/// farthest and for all others. That is all that is needed to know whether any other program's
/// interval reaches over a point.
class OverlapSearch::Frontier {
public:
  bool meets(const Footprint &next) const { return meets(next.touch, next.program, next.begin); }
  bool meets(Touch touch, uint32_t program, uint64_t begin) const {
    const uint32_t kinds = rivals(touch) & present_;
    for (uint32_t kind = 0; kind < kTouches; ++kind)
      if ((kinds >> kind & 1) != 0 && reach_[kind].ofOthers(program) > begin)
        return true;
    return false;
  }
  void add(const Footprint &next) { add(next.touch, next.program, next.end); }
  void add(Touch touch, uint32_t program, uint64_t end) {
    present_ |= bit(touch);
    reach_[static_cast<int>(touch)].add(program, end);
  }
  /// Whether bytes up to `end` add nothing: they are known of this program or, unless they are
  /// written, of two others, one of which is a rival to whatever may come.
  bool covers(const Footprint &next) const {
    const Reach &reach = reach_[static_cast<int>(next.touch)];
    if ((present_ & bit(next.touch)) == 0 || reach.end < next.end)
      return false;
    return reach.program == next.program ||
           (next.touch != Touch::Write && reach.second >= next.end);
  }

private:
  struct Reach {
    uint64_t end = 0, second = 0;
    uint32_t program = 0;

    uint64_t ofOthers(uint32_t asking) const { return asking == program ? second : end; }
    void add(uint32_t adding, uint64_t to) {
      if (adding == program) {
        end = std::max(end, to);
      } else if (to > end) {
        second = end;
        end = to;
        program = adding;
      } else {
        second = std::max(second, to);
      }
    }
  };
  Reach reach_[kTouches];
  uint32_t present_ = 0;
};

OverlapSearch::OverlapSearch(int workers) : fullLog_(kLogEntries), patterns_(1) {
  for (int i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>());
}

OverlapSearch::~OverlapSearch() = default;

void OverlapSearch::add(int worker, uint32_t program, Touch touch, uint64_t begin, uint64_t end) {
  if (hasFound())
    return;
  Worker &mine = *workers_[static_cast<size_t>(worker)];
  if (!mine.log.empty()) {
    Footprint &last = mine.log.back();
    if (last.end == begin && last.program == program && last.touch == touch && last.pattern == 0) {
      last.end = end;
      return;
    }
  }
  mine.log.push_back({begin, end, program, touch, 0});
  if (mine.log.size() >= fullLog_.load(std::memory_order_relaxed))
    flush(mine);
}

void OverlapSearch::add(int worker, uint32_t program, Touch touch, const PlacedRows &rows) {
  const uint64_t end = rows.begin + rows.pattern.extent();
  if (rows.pattern.rank == 0)
    return add(worker, program, touch, rows.begin, end);
  if (hasFound())
    return;
  Worker &mine = *workers_[static_cast<size_t>(worker)];
  if (mine.lastNumber == 0 || mine.lastPattern != rows.pattern) {
    const std::lock_guard lock(mutex_);
    const auto [number, isNew] =
        numbers_.try_emplace(rows.pattern, static_cast<uint32_t>(patterns_.size()));
    if (isNew)
      patterns_.push_back(rows.pattern);
    if (patterns_.size() > kMostPatterns)
      giveUp();
    mine.lastPattern = rows.pattern;
    mine.lastNumber = number->second;
  }
  mine.log.push_back({rows.begin, end, program, touch, mine.lastNumber});
  if (mine.log.size() >= fullLog_.load(std::memory_order_relaxed))
    flush(mine);
}

void OverlapSearch::settle(Worker &worker) {
  std::vector<Footprint> all(settled_.size() + worker.log.size());
  std::merge(settled_.begin(), settled_.end(), worker.log.begin(), worker.log.end(), all.begin());
  settled_ = std::move(all);
  worker.log.clear();
}

void OverlapSearch::flush(Worker &worker) {
  worker.sort();
  const std::lock_guard lock(mutex_);
  settle(worker);
  dropCovered(settled_);
  if (hasConflict(settled_))
    found_ = true;
  // What is settled is gone over each time: the more there is, the rarer.
  fullLog_ = std::max(kLogEntries, settled_.size() / 2);
}

bool OverlapSearch::finish() {
  if (hasFound())
    return true;
  for (const std::unique_ptr<Worker> &worker : workers_) {
    worker->sort();
    settle(*worker);
  }
  if (hasConflict(settled_))
    found_ = true;
  return hasFound();
}

void OverlapSearch::dropCovered(std::vector<Footprint> &sorted) {
  Frontier frontier;
  size_t kept = 0;
  for (const Footprint &next : sorted) {
    if (next.pattern == 0) {
      if (frontier.covers(next))
        continue;
      frontier.add(next);
      Footprint *last = kept ? &sorted[kept - 1] : nullptr;
      if (last && last->pattern == 0 && last->program == next.program &&
          last->touch == next.touch && next.begin <= last->end) {
        last->end = std::max(last->end, next.end);
        continue;
      }
    }
    sorted[kept++] = next;
  }
  sorted.resize(kept);
}

bool OverlapSearch::hasConflict(llvm::ArrayRef<Footprint> sorted) const {
  while (!sorted.empty()) {
    // A group: what overlaps, by its bounds, directly or through others.
    Frontier frontier;
    bool meets = false, hasPatterns = false;
    uint64_t end = sorted.front().end;
    size_t count = 0;
    for (; count < sorted.size() && sorted[count].begin < end; ++count) {
      const Footprint &next = sorted[count];
      meets = meets || frontier.meets(next);
      frontier.add(next);
      hasPatterns |= next.pattern != 0;
      end = std::max(end, next.end);
    }
    const llvm::ArrayRef<Footprint> group = sorted.take_front(count);
    sorted = sorted.drop_front(count);
    if (!meets)
      continue;
    Verdict verdict = hasPatterns ? compareCells(group) : Verdict::Conflict;
    if (verdict == Verdict::Unknown)
      verdict = compareRows(group);
    if (verdict != Verdict::Clean)
      return true;
  }
  return false;
}

/// A tile of a matrix: columns [left, right) of rows [top, bottom).
struct OverlapSearch::Cell {
  uint64_t left, right, top, bottom;
  uint32_t program;
  Touch touch;
};

/// Tiles of one matrix whose column ranges are equal or disjoint: rows are compared in each range.
OverlapSearch::Verdict OverlapSearch::compareCells(llvm::ArrayRef<Footprint> group) const {
  uint64_t stride = 0;
  for (const Footprint &next : group) {
    const RowPattern &pattern = patterns_[next.pattern];
    if (next.pattern == 0)
      continue;
    if (pattern.rank != 1 || (stride != 0 && stride != pattern.dimensions[0].strideBytes))
      return Verdict::Unknown;
    stride = pattern.dimensions[0].strideBytes;
  }
  std::vector<Cell> cells;
  cells.reserve(group.size());
  for (const Footprint &next : group) {
    const RowPattern &pattern = patterns_[next.pattern];
    const uint64_t offset = next.begin - group.front().begin;
    const uint64_t rows = next.pattern ? pattern.dimensions[0].size : 1;
    const uint64_t width = next.pattern ? pattern.rowBytes : next.end - next.begin;
    const uint64_t left = offset % stride, top = offset / stride;
    if (left + width > stride)
      return Verdict::Unknown;
    cells.push_back({left, left + width, top, top + rows, next.program, next.touch});
  }
  llvm::sort(cells, [](const Cell &a, const Cell &b) {
    return std::tie(a.left, a.right, a.top) < std::tie(b.left, b.right, b.top);
  });
  uint64_t left = 0, right = 0;
  Frontier frontier;
  for (const Cell &cell : cells) {
    if (cell.left != left || cell.right != right) {
      if (cell.left < right)
        return Verdict::Unknown;
      left = cell.left;
      right = cell.right;
      frontier = Frontier();
    }
    if (frontier.meets(cell.touch, cell.program, cell.top))
      return Verdict::Conflict;
    frontier.add(cell.touch, cell.program, cell.bottom);
  }
  return Verdict::Clean;
}

OverlapSearch::Verdict OverlapSearch::compareRows(llvm::ArrayRef<Footprint> group) const {
  uint64_t count = 0;
  for (const Footprint &next : group)
    count += patterns_[next.pattern].rows();
  if (count > kMostRows)
    return Verdict::Conflict; // gives up
  std::vector<Footprint> rows;
  rows.reserve(count);
  for (const Footprint &next : group) {
    const RowPattern &pattern = patterns_[next.pattern];
    if (next.pattern == 0)
      rows.push_back(next);
    else
      pattern.forEachRow([&](uint64_t offset) {
        const uint64_t begin = next.begin + offset;
        rows.push_back({begin, begin + pattern.rowBytes, next.program, next.touch, 0});
      });
  }
  llvm::sort(rows);
  Frontier frontier;
  for (const Footprint &row : rows) {
    if (frontier.meets(row))
      return Verdict::Conflict;
    frontier.add(row);
  }
  return Verdict::Clean;
}

} // namespace blockscope::sanitizer
