// Requests, one after another.
#include "sanitizer/traffic.h"

#include <algorithm>

namespace blockscope::sanitizer {
namespace {

constexpr uint64_t kSectorBytes = 32;

/// An address that is unlike those of other storages, and a multiple of a sector where the storage
/// begins.
uint64_t placeOf(const Allocation *allocation, uint64_t address) {
  if (allocation == nullptr)
    return address;
  return (uint64_t{allocation->number} + 1) << kAllocationShift |
         (static_cast<uint64_t>(allocation->view - allocation->storage) +
          static_cast<uint64_t>(MemoryMap::offsetIn(*allocation, address)));
}

} // namespace

Traffic &Traffic::operator+=(const Traffic &other) {
  accesses += other.accesses;
  requests += other.requests;
  sectors += other.sectors;
  leastSectors += other.leastSectors;
  return *this;
}

/// False when no lane is active.
bool TrafficCounter::findElements(const Access &access, const MemoryMap *memory) {
  elements_.assign(static_cast<size_t>(access.lanes), 0);
  for (const AccessRun &run : access.runs)
    for (int64_t lane = 0; lane < run.count; ++lane) {
      const uint64_t address = run.address + static_cast<uint64_t>(lane * run.strideBytes);
      const Allocation *allocation = access.allocation;
      if (allocation == nullptr && memory != nullptr)
        allocation = memory->find(address);
      elements_[static_cast<size_t>(run.firstLane + lane)] = placeOf(allocation, address);
    }
  return !access.runs.empty();
}

/// Counts the pieces of memory that the threads of a warp reach in one instruction.
void TrafficCounter::endRequest(int64_t pieceBytes, Traffic &traffic) {
  if (pieces_.empty())
    return;
  std::sort(pieces_.begin(), pieces_.end());
  const auto bytes = static_cast<uint64_t>(pieceBytes);
  uint64_t sectors = 0, unique = 0;
  uint64_t next = 0; // the first byte, and the first sector, that no piece has touched
  uint64_t nextSector = 0;
  for (const uint64_t begin : pieces_) {
    const uint64_t end = begin + bytes;
    unique += end - std::min(end, std::max(begin, next));
    next = std::max(next, end);
    const uint64_t first = std::max(begin / kSectorBytes, nextSector);
    const uint64_t last = (end - 1) / kSectorBytes;
    if (first <= last) {
      sectors += last - first + 1;
      nextSector = last + 1;
    }
  }
  ++traffic.requests;
  traffic.sectors += static_cast<int64_t>(sectors);
  traffic.leastSectors += static_cast<int64_t>((unique + kSectorBytes - 1) / kSectorBytes);
  pieces_.clear();
}

void TrafficCounter::add(const Access &access, const AccessPlan &plan, const MemoryMap *memory,
                         Traffic &traffic) {
  ++traffic.accesses;
  if (!findElements(access, memory))
    return;
  if (plan.way == AccessPlan::Way::Tma) {
    for (const uint64_t element : elements_)
      if (element != 0)
        pieces_.push_back(element);
    endRequest(access.elementBytes, traffic);
    return;
  }
  for (const uint32_t warp : plan.warps)
    for (const uint32_t instruction : plan.instructions) {
      for (const uint32_t lane : plan.lanes) {
        const size_t element = warp ^ instruction ^ lane;
        if (element < elements_.size() && elements_[element] != 0)
          pieces_.push_back(elements_[element]);
      }
      endRequest(int64_t{plan.elementsPerThread} * access.elementBytes, traffic);
    }
}

} // namespace blockscope::sanitizer
