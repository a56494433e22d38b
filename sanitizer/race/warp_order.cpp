// Sweeps the accesses of one program by address.
#include "sanitizer/race/warp_order.h"

#include "interpreter/flat/flat_program.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>

namespace blockscope::sanitizer {

namespace {

constexpr size_t kMostAccesses = 1 << 14;
constexpr size_t kComparisonsPerAccess = 64;
constexpr size_t kMostAtomicRanges = 16;
constexpr uint64_t kAtomicGapBytes = 4096; ///< ranges that are nearer become one

/// The lanes of a box as a map between index and address: where the index of lane 0 would be, and
/// the index of the first lane.
struct LaneMap {
  uint64_t origin;
  int64_t rest;
  int64_t first[kBoxRank];
};

LaneMap mapOf(const AccessBox &box) {
  LaneMap map{box.address, box.firstLane, {}};
  for (int d = 0; d < box.rank; ++d) {
    const AccessBox::Dimension &dimension = box.dimensions[d];
    map.first[d] = map.rest / dimension.laneStride;
    map.rest %= dimension.laneStride;
    map.origin -= static_cast<uint64_t>(map.first[d] * dimension.strideBytes);
  }
  return map;
}

/// Whether both boxes put every address that they share into the same lane.
bool haveSameLanes(const AccessBox &a, const AccessBox &b, int elementBytes) {
  if (a.rank != b.rank)
    return false;
  const LaneMap x = mapOf(a), y = mapOf(b);
  if (x.origin != y.origin || x.rest != y.rest)
    return false;
  AccessBox both = a; // from the origin to the end of either; one index for each address?
  for (int d = 0; d < a.rank; ++d) {
    const AccessBox::Dimension &p = a.dimensions[d], &q = b.dimensions[d];
    if (p.strideBytes != q.strideBytes || p.laneStride != q.laneStride)
      return false;
    both.dimensions[d].size = std::max(x.first[d] + p.size, y.first[d] + q.size);
    both.dimensions[d].strideBytes = std::abs(p.strideBytes);
  }
  std::sort(both.dimensions, both.dimensions + both.rank,
            [](const AccessBox::Dimension &p, const AccessBox::Dimension &q) {
              return p.strideBytes < q.strideBytes;
            });
  int64_t extent = elementBytes;
  for (int d = 0; d < both.rank; ++d) {
    const AccessBox::Dimension &dimension = both.dimensions[d];
    if (dimension.size == 1)
      continue;
    if (dimension.strideBytes < extent)
      return false;
    extent += dimension.strideBytes * (dimension.size - 1);
  }
  return true;
}

} // namespace

bool WarpOrder::readsCountIn(const LaunchInfo &launch) {
  return launch.program && !launch.program->mayExchange;
}

void WarpOrder::onAccess(const AccessBox &box, int elementBytes, Kind kind) {
  if (kind.isAtomic && kind.writes) {
    const PlacedRows rows = rowsOf(box, elementBytes);
    return addAtomic({rows.begin, rows.begin + rows.pattern.extent(), kind.isBlock});
  }
  if (accesses_.size() > kMostAccesses ||
      (!readsCount_ && accesses_.empty() && atomics_.empty() && !kind.writes))
    return; // what comes before the first write cannot see one
  accesses_.push_back({box, elementBytes, kind});
}

void WarpOrder::addAtomic(AtomicRange added) {
  const auto isNear = [&](const AtomicRange &range) {
    return added.begin <= range.end + kAtomicGapBytes && range.begin <= added.end + kAtomicGapBytes;
  };
  auto range = llvm::find_if(atomics_, isNear);
  if (range == atomics_.end() && atomics_.size() < kMostAtomicRanges) {
    atomics_.push_back(added);
    return;
  }
  if (range == atomics_.end())
    range = atomics_.begin();
  *range = {std::min(range->begin, added.begin), std::max(range->end, added.end),
            range->isBlock || added.isBlock};
}

bool WarpOrder::touchesAtomics(const Known &known) const {
  return llvm::any_of(atomics_, [&](const AtomicRange &range) {
    return known.rows.begin < range.end && range.begin < known.end &&
           (known.kind.isBlock || range.isBlock);
  });
}

bool WarpOrder::clash(const Known &earlier, const Known &later) const {
  const bool overwrites =
      readsCount_ && later.kind.writes && !later.kind.isAtomic && !earlier.kind.isAtomic;
  if (!(earlier.kind.writes || overwrites) || (!earlier.kind.isBlock && !later.kind.isBlock) ||
      (earlier.elementBytes == later.elementBytes &&
       haveSameLanes(earlier.box, later.box, earlier.elementBytes)))
    return false;
  const bool earlierIsSmaller = earlier.rows.pattern.rows() < later.rows.pattern.rows();
  const PlacedRows &few = earlierIsSmaller ? earlier.rows : later.rows;
  const PlacedRows &many = earlierIsSmaller ? later.rows : earlier.rows;
  bool shares = false;
  few.pattern.forEachRow([&](uint64_t offset) {
    const auto begin = static_cast<int64_t>(few.begin + offset - many.begin);
    shares =
        shares || many.pattern.touches(begin, begin + static_cast<int64_t>(few.pattern.rowBytes));
  });
  return shares;
}

bool WarpOrder::mayBeBroken() {
  if (accesses_.size() < 2 && atomics_.empty()) { // most programs of most kernels
    accesses_.clear();
    return false;
  }
  std::vector<Known> &sorted = sorted_;
  sorted.clear();
  for (const Seen &seen : accesses_) {
    const PlacedRows rows = rowsOf(seen.box, seen.elementBytes);
    sorted.push_back(
        {seen, rows, rows.begin + rows.pattern.extent(), static_cast<uint32_t>(sorted.size())});
  }
  accesses_.clear();
  const bool nearAtomics =
      llvm::any_of(sorted, [&](const Known &known) { return touchesAtomics(known); });
  atomics_.clear();
  if (nearAtomics || sorted.size() > kMostAccesses)
    return true;
  std::sort(sorted.begin(), sorted.end(),
            [](const Known &a, const Known &b) { return a.rows.begin < b.rows.begin; });
  size_t comparisons = 0;
  std::vector<const Known *> open;
  bool broken = false;
  for (const Known &next : sorted) {
    llvm::erase_if(open, [&](const Known *known) { return known->end <= next.rows.begin; });
    for (const Known *known : open)
      broken = broken || (known->order < next.order ? clash(*known, next) : clash(next, *known));
    comparisons += open.size();
    broken = broken || comparisons > kComparisonsPerAccess * sorted.size();
    if (broken)
      break;
    open.push_back(&next);
  }
  return broken;
}

} // namespace blockscope::sanitizer
