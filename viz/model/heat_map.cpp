// Counting of runs per element.
//
// A run of neighbours adds one at its start and takes one away after its end; one running sum over
// the tensor then gives the counts, so a run costs the same whatever its length.
#include "viz/model/heat_map.h"

#include <algorithm>
#include <iterator>

namespace blockscope::viz {

std::vector<uint32_t> &HeatMap::countsOf(TraceAccessKind kind) {
  std::vector<uint32_t> &counts = kind == TraceAccessKind::Read    ? loads_
                                  : kind == TraceAccessKind::Write ? stores_
                                                                   : atomics_;
  if (counts.empty()) // one more for the end of a run that reaches the last slot
    counts.resize(static_cast<size_t>(layout_->slotCount()) + 1);
  return counts;
}

void HeatMap::addOutside(int64_t slot, int64_t count, TraceAccessKind kind, uint32_t times) {
  outsideAccesses_ += static_cast<uint64_t>(count) * times;
  for (int64_t at = 0; at < count && outside_.size() < 4 * kMaxOutsidePlaces; ++at) {
    OutsidePlace place;
    place.slot = slot + at;
    (kind == TraceAccessKind::Read    ? place.counts.loads
     : kind == TraceAccessKind::Write ? place.counts.stores
                                      : place.counts.atomics) = times;
    outside_.push_back(place);
  }
}

/// Adds the differences of [slot, slot + count) where it is inside, the rest as outside places.
void HeatMap::addContiguous(int64_t slot, int64_t count, TraceAccessKind kind) {
  const int64_t begin = std::clamp<int64_t>(slot, 0, layout_->slotCount());
  const int64_t end = std::clamp<int64_t>(slot + count, 0, layout_->slotCount());
  if (begin < end) {
    std::vector<uint32_t> &counts = countsOf(kind);
    ++counts[static_cast<size_t>(begin)];
    --counts[static_cast<size_t>(end)];
  }
  if (slot < 0)
    addOutside(slot, std::min<int64_t>(count, -slot), kind, 1);
  if (slot + count > layout_->slotCount()) {
    const int64_t first = std::max(slot, layout_->slotCount());
    addOutside(first, slot + count - first, kind, 1);
  }
}

/// Adds a run in the pass that its form belongs to.
void HeatMap::addRun(const TraceRun &run, bool contiguousPass) {
  const int64_t bytes = layout_->elementBytes();
  const bool isPlain = layout_->isRunOfElements(run);
  const bool isContiguous = !isPlain || (run.innerStrideBytes == bytes && run.innerCount > 1);
  if (isContiguous != contiguousPass)
    return;
  for (int64_t row = 0; row < run.outerCount; ++row) {
    const int64_t offset = run.offsetBytes + row * run.outerStrideBytes;
    if (isPlain && isContiguous) {
      addContiguous(layout_->slotOf(offset), run.innerCount, run.kind);
      continue;
    }
    for (int64_t column = 0; column < run.innerCount; ++column) {
      const int64_t at = offset + column * run.innerStrideBytes;
      if (!isPlain) { // wider, narrower or misaligned: every element that is touched
        const int64_t first = layout_->slotOf(at);
        addContiguous(first,
                      layout_->slotOf(at + std::max(1, int{run.elementBytes}) - 1) - first + 1,
                      run.kind);
        continue;
      }
      const int64_t slot = layout_->slotOf(at);
      if (slot >= 0 && slot < layout_->slotCount())
        ++countsOf(run.kind)[static_cast<size_t>(slot)];
      else
        addOutside(slot, 1, run.kind, 1);
    }
  }
}

/// One element, aligned: never a run of neighbours.
bool HeatMap::isSingle(const TraceAccesses &accesses, size_t row) const {
  return accesses.outerCount[row] == 1 && accesses.elementBytes[row] == layout_->elementBytes() &&
         layout_->isAligned(accesses.offsetBytes[row]);
}

HeatMap::HeatMap(const TensorLayout &layout, const TraceAccesses &accesses, int argument,
                 RunFilter filter, const std::vector<std::pair<size_t, size_t>> &rowRanges)
    : layout_(&layout) {
  for (const bool contiguousPass : {true, false}) {
    for (const auto &[begin, end] : rowRanges)
      for (size_t row = begin; row < end; ++row)
        if (accesses.argument[row] == argument &&
            (filter.op < 0 || accesses.op[row] == static_cast<uint32_t>(filter.op)) &&
            (filter.program < 0 || accesses.program[row] == filter.program) &&
            (!contiguousPass || accesses.innerCount[row] != 1 || !isSingle(accesses, row)))
          addRun(accesses[row], contiguousPass);
    if (!contiguousPass)
      break;
    for (std::vector<uint32_t> *counts : {&loads_, &stores_, &atomics_})
      for (size_t slot = 1; slot < counts->size(); ++slot)
        (*counts)[slot] += (*counts)[slot - 1];
  }
  if (!layout.isDense())
    moveGapsOutside(layout);
  std::sort(
      outside_.begin(), outside_.end(),
      [](const OutsidePlace &left, const OutsidePlace &right) { return left.slot < right.slot; });
  size_t kept = 0;
  for (const OutsidePlace &place : outside_) {
    if (kept > 0 && outside_[kept - 1].slot == place.slot) {
      outside_[kept - 1].counts.loads += place.counts.loads;
      outside_[kept - 1].counts.stores += place.counts.stores;
      outside_[kept - 1].counts.atomics += place.counts.atomics;
    } else {
      outside_[kept++] = place;
    }
  }
  outside_.resize(std::min(kept, kMaxOutsidePlaces));
  for (int64_t slot = 0; slot < layout.slotCount(); ++slot) {
    const ElementCounts counts = at(slot);
    for (const HeatMode mode : {HeatMode::Reads, HeatMode::Writes, HeatMode::Both}) {
      const auto index = static_cast<size_t>(mode);
      const uint32_t value = counts.of(mode);
      maximum_[index] = std::max(maximum_[index], value);
      if (value > 0 && (minimum_[index] == 0 || value < minimum_[index]))
        minimum_[index] = value;
    }
  }
}

/// Slots between the elements of a strided view are outside the tensor.
void HeatMap::moveGapsOutside(const TensorLayout &layout) {
  for (int64_t slot = 0; slot < layout.slotCount(); ++slot) {
    const ElementCounts counts = at(slot);
    if (counts.of(HeatMode::Both) == 0 || layout.isElement(slot))
      continue;
    outsideAccesses_ += counts.of(HeatMode::Both);
    outside_.push_back({slot, counts});
    for (std::vector<uint32_t> *each : {&loads_, &stores_, &atomics_})
      if (!each->empty())
        (*each)[static_cast<size_t>(slot)] = 0;
  }
}

} // namespace blockscope::viz
