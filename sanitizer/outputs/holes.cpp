// Gaps in views, as boxes of indices.
#include "sanitizer/outputs/holes.h"

#include "sanitizer/sanitizer.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace blockscope::sanitizer {
namespace {

constexpr size_t kMostGaps = 1 << 16;

uint64_t hostOf(const Allocation &allocation) {
  return reinterpret_cast<uint64_t>(allocation.view);
}

HostElements elementsOf(const Allocation &allocation) {
  HostElements elements;
  elements.address = hostOf(allocation);
  elements.elementBytes = static_cast<uint64_t>(allocation.info.elementBytes);
  for (size_t d = 0; d < allocation.info.shape.size(); ++d) {
    const bool isExpanded = allocation.info.strides[d] == 0 && allocation.info.shape[d] > 0;
    elements.shape.push_back(isExpanded ? 1 : allocation.info.shape[d]);
    elements.strides.push_back(allocation.info.strides[d] * allocation.info.elementBytes);
  }
  return elements;
}

std::vector<int64_t> indexOf(const Allocation &allocation, uint64_t address) {
  return allocation.elementIndex(static_cast<int64_t>(address - hostOf(allocation)));
}

} // namespace

void LeftOut::add(uint64_t begin, uint64_t end, int64_t elementBytes) {
  elements += static_cast<int64_t>(end - begin) / elementBytes;
  if (!gaps.empty() && gaps.back().end == begin)
    gaps.back().end = end;
  else
    gaps.push_back({begin, end});
}

std::optional<LeftOut> leftOut(const Allocation &allocation, const WriteMap &written) {
  LeftOut result;
  bool hasWritten = false;
  const auto size = static_cast<uint64_t>(allocation.info.elementBytes);
  elementsOf(allocation).forEachRun([&](uint64_t begin, uint64_t end) {
    uint64_t last = begin;
    written.forEachGap(begin, end, [&](uint64_t from, uint64_t to) {
      hasWritten |= from > last;
      last = to;
      from = begin + (from - begin + size - 1) / size * size; // elements that are left out whole
      to = begin + (to - begin) / size * size;
      if (from < to)
        result.add(from, to, allocation.info.elementBytes);
      return result.gaps.size() > kMostGaps;
    });
    hasWritten |= last < end;
    return result.gaps.size() > kMostGaps;
  });
  if (!hasWritten || result.gaps.size() > kMostGaps)
    return std::nullopt;
  return result;
}

std::string elementsText(const Allocation &allocation, const LeftOut &elements) {
  std::vector<int64_t> low, high;
  for (const Gap &gap : elements.gaps) {
    // A gap may run over the end of a row, then it has elements of all columns between.
    const std::vector<int64_t> first = indexOf(allocation, gap.begin);
    const std::vector<int64_t> last =
        indexOf(allocation, gap.end - static_cast<uint64_t>(allocation.info.elementBytes));
    if (low.empty()) {
      low = first;
      high = last;
    }
    bool isOneRow = true;
    for (size_t d = 0; d < first.size(); ++d) {
      const int64_t end = allocation.info.shape[d] - 1;
      low[d] = std::min(low[d], isOneRow ? first[d] : 0);
      high[d] = std::max(high[d], isOneRow ? last[d] : end);
      isOneRow &= first[d] == last[d];
    }
  }
  int64_t volume = 1;
  std::string text;
  for (size_t d = 0; d < low.size(); ++d) {
    volume *= high[d] - low[d] + 1;
    text += (d == 0 ? "" : ", ") + std::to_string(low[d]);
    if (high[d] > low[d])
      text += ":" + std::to_string(high[d] + 1);
  }
  text = allocation.info.name + "[" + text + "]";
  return volume == elements.elements ? text : "some of " + text;
}

LeftOut enclosed(const Allocation &allocation, const LeftOut &elements, const WriteMap &written) {
  LeftOut result;
  const auto &info = allocation.info;
  if (!allocation.viewIsDense || info.shape.empty() || info.strides.back() != 1)
    return result;
  const auto begin = hostOf(allocation) + static_cast<uint64_t>(allocation.viewBegin);
  const auto end = hostOf(allocation) + static_cast<uint64_t>(allocation.viewEnd);
  const auto rowBytes = static_cast<uint64_t>(info.shape.back() * info.elementBytes);
  for (const Gap &gap : elements.gaps) {
    const uint64_t from = gap.begin - begin, to = gap.end - begin;
    const bool isInside = gap.begin > begin && gap.end < end;
    const bool areRows = from % rowBytes == 0 && to % rowBytes == 0;
    const bool isInRow =
        from / rowBytes == (to - 1) / rowBytes && from % rowBytes != 0 && to % rowBytes != 0;
    if (isInside && (areRows || isInRow) && written.isWritten(gap.begin - 1) &&
        written.isWritten(gap.end))
      result.add(gap.begin, gap.end, info.elementBytes);
  }
  const int64_t all = (allocation.viewEnd - allocation.viewBegin) / info.elementBytes;
  if (2 * elements.elements > all)
    return {};
  return result;
}

} // namespace blockscope::sanitizer
