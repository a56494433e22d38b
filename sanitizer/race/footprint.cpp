// Boxes of lanes as rows of bytes: the order of lanes does not matter, that of addresses does.
#include "sanitizer/race/footprint.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdlib>

namespace blockscope::sanitizer {

namespace {

using Dimension = RowPattern::Dimension;

void visitRows(llvm::ArrayRef<Dimension> dimensions, uint64_t offset,
               llvm::function_ref<void(uint64_t)> visit) {
  if (dimensions.empty())
    return visit(offset);
  for (uint64_t i = 0; i < dimensions.front().size; ++i)
    visitRows(dimensions.drop_front(), offset + i * dimensions.front().strideBytes, visit);
}

bool touchesRows(llvm::ArrayRef<Dimension> dimensions, int64_t rowBytes, int64_t begin,
                 int64_t end) {
  if (dimensions.empty())
    return begin < rowBytes && end > 0;
  const auto stride = static_cast<int64_t>(dimensions.front().strideBytes);
  const auto size = static_cast<int64_t>(dimensions.front().size);
  int64_t inner = rowBytes; // what one step of this dimension covers
  for (const Dimension &dimension : dimensions.drop_front())
    inner += static_cast<int64_t>((dimension.size - 1) * dimension.strideBytes);
  // Steps i with i * stride < end and i * stride + inner > begin.
  const int64_t first = begin < inner ? 0 : (begin - inner) / stride + 1;
  const int64_t last = end <= 0 ? -1 : std::min(size - 1, (end - 1) / stride);
  for (int64_t i = first; i <= last; ++i)
    if (touchesRows(dimensions.drop_front(), rowBytes, begin - i * stride, end - i * stride))
      return true;
  return false;
}

void visitRuns(const Access &access, const MemoryMap &memory,
               llvm::function_ref<void(const AccessBox &, const Allocation &)> visit) {
  for (const AccessRun &run : access.runs) {
    const Allocation *allocation = access.allocation ? access.allocation : memory.find(run.address);
    AccessBox box;
    box.rank = 1;
    box.dimensions[0] = {run.count, run.strideBytes, 1};
    box.firstLane = run.firstLane;
    box.address = run.address;
    if (run.count == 1 || std::abs(run.strideBytes) >= access.elementBytes) {
      visit(box, *allocation);
      continue;
    }
    // Lanes on top of one another: each for itself.
    for (int64_t i = 0; i < run.count; ++i) {
      box.dimensions[0] = {1, access.elementBytes, 1};
      box.firstLane = run.firstLane + i;
      box.address = run.address + static_cast<uint64_t>(i * run.strideBytes);
      visit(box, *allocation);
    }
  }
}

void visitLanes(const Access &access, const MemoryMap &memory,
                llvm::function_ref<void(const AccessBox &, const Allocation &)> visit) {
  const int64_t size = access.elementBytes;
  const auto isActive = [&](int64_t lane) { return !access.mask || access.mask[lane]; };
  for (int64_t lane = 0; lane < access.lanes;) {
    if (!isActive(lane)) {
      ++lane;
      continue;
    }
    const DeviceAddress address = access.addresses[lane];
    AccessBox box;
    box.rank = 1;
    box.firstLane = lane;
    box.address = address;
    int64_t count = 1;
    while (lane + count < access.lanes && isActive(lane + count) &&
           access.addresses[lane + count] == address + static_cast<uint64_t>(count * size))
      ++count;
    box.dimensions[0] = {count, size, 1};
    const Allocation *allocation = access.allocation ? access.allocation : memory.find(address);
    if (allocation)
      visit(box, *allocation);
    lane += count;
  }
}

} // namespace

void forEachBox(const Access &access, const MemoryMap &memory,
                llvm::function_ref<void(const AccessBox &, const Allocation &)> visit) {
  if (access.box)
    visit(*access.box, *access.allocation);
  else if (access.runs.empty())
    visitLanes(access, memory, visit);
  else
    visitRuns(access, memory, visit);
}

uint64_t RowPattern::rows() const {
  uint64_t count = 1;
  for (int d = 0; d < rank; ++d)
    count *= dimensions[d].size;
  return count;
}

uint64_t RowPattern::extent() const {
  uint64_t bytes = rowBytes;
  for (int d = 0; d < rank; ++d)
    bytes += (dimensions[d].size - 1) * dimensions[d].strideBytes;
  return bytes;
}

void RowPattern::forEachRow(llvm::function_ref<void(uint64_t)> visit) const {
  visitRows(llvm::ArrayRef(dimensions).take_front(rank), 0, visit);
}

bool RowPattern::touches(int64_t begin, int64_t end) const {
  return touchesRows(llvm::ArrayRef(dimensions).take_front(rank), static_cast<int64_t>(rowBytes),
                     begin, end);
}

PlacedRows rowsOf(const AccessBox &box, int elementBytes) {
  const AccessBox::Dimension &first = box.dimensions[0];
  if (box.rank == 1 && (first.size == 1 || first.strideBytes == elementBytes)) // nearly all
    return {box.address, {.rowBytes = static_cast<uint64_t>(first.size * elementBytes)}};
  PlacedRows result;
  result.begin = box.address;
  RowPattern &pattern = result.pattern;
  pattern.rowBytes = static_cast<uint64_t>(elementBytes);
  Dimension sorted[kBoxRank];
  int count = 0;
  for (int d = 0; d < box.rank; ++d) {
    const AccessBox::Dimension &dimension = box.dimensions[d];
    if (dimension.size == 1)
      continue;
    if (dimension.strideBytes < 0)
      result.begin += static_cast<uint64_t>((dimension.size - 1) * dimension.strideBytes);
    sorted[count++] = {static_cast<uint64_t>(dimension.size),
                       static_cast<uint64_t>(std::abs(dimension.strideBytes))};
  }
  std::sort(sorted, sorted + count,
            [](const Dimension &a, const Dimension &b) { return a.strideBytes < b.strideBytes; });
  Dimension joined[kBoxRank];
  int rank = 0;
  for (int d = 0; d < count; ++d) {
    if (rank == 0 && sorted[d].strideBytes == pattern.rowBytes)
      pattern.rowBytes *= sorted[d].size;
    else if (rank > 0 &&
             sorted[d].strideBytes == joined[rank - 1].size * joined[rank - 1].strideBytes)
      joined[rank - 1].size *= sorted[d].size;
    else
      joined[rank++] = sorted[d];
  }
  pattern.rank = rank;
  std::reverse_copy(joined, joined + rank, pattern.dimensions.begin());
  return result;
}

} // namespace blockscope::sanitizer
