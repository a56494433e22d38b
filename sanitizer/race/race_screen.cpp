// Turns accesses into footprints.
#include "sanitizer/race/race_screen.h"

#include "interpreter/lane_access.h"

#include <algorithm>

namespace blockscope::sanitizer {

namespace {

Touch touchOf(const Access &access) {
  switch (access.kind) {
  case AccessKind::Load:
  case AccessKind::AtomicLoad: // conflicts with any write here; the exact analysis tells atomics
                               // apart
    return Touch::Read;
  case AccessKind::Store:
    return Touch::Write;
  case AccessKind::AtomicStore:
  case AccessKind::AtomicRmw:
  case AccessKind::AtomicCas:
    break;
  }
  if (access.scope == AtomicScope::Cta) // excludes no other program
    return Touch::Write;
  switch (access.elementBytes) {
  case 1:
    return Touch::Atomic1;
  case 2:
    return Touch::Atomic2;
  case 4:
    return Touch::Atomic4;
  default:
    return Touch::Atomic8;
  }
}

} // namespace

RaceScreen::RaceScreen(const LaunchInfo &launch)
    : memory_(*launch.memory), workers_(static_cast<size_t>(std::max(1, launch.workers))),
      search_(std::max(1, launch.workers)) {}

void RaceScreen::onAccess(const Access &access) {
  const Touch touch = touchOf(access);
  if (access.activeLanes == 0 ||
      (touch == Touch::Read && access.allocation && !access.allocation->mayBeStored))
    return;
  if (access.box)
    return addBox(access, touch, *access.box, *access.allocation);
  if (access.runs.empty())
    return addLanes(access, touch);
  for (const AccessRun &run : access.runs) {
    const Allocation *allocation =
        access.allocation ? access.allocation : memory_.find(run.address);
    AccessBox box;
    box.rank = 1;
    box.dimensions[0] = {run.count, run.strideBytes, 1};
    box.firstLane = run.firstLane;
    box.address = run.address;
    if (run.count > 1 && std::abs(run.strideBytes) < access.elementBytes) {
      // Lanes on top of one another: each for itself.
      for (int64_t i = 0; i < run.count; ++i) {
        box.dimensions[0] = {1, access.elementBytes, 1};
        box.firstLane = run.firstLane + i;
        box.address = run.address + static_cast<uint64_t>(i * run.strideBytes);
        addBox(access, touch, box, *allocation);
      }
      continue;
    }
    addBox(access, touch, box, *allocation);
  }
}

void RaceScreen::addLanes(const Access &access, Touch touch) {
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
    const Allocation *allocation = access.allocation ? access.allocation : memory_.find(address);
    if (allocation)
      addBox(access, touch, box, *allocation);
    lane += count;
  }
}

void RaceScreen::addBox(const Access &access, Touch touch, AccessBox box,
                        const Allocation &allocation) {
  if (!allocation.mayBeStored) {
    if (touch != Touch::Read)
      search_.giveUp(); // by an offset of 2^48 bytes from another tensor
    return;
  }
  box.address += interpreter::hostDelta(allocation, box.address);
  search_.add(access.worker, static_cast<uint32_t>(access.program), touch,
              rowsOf(box, access.elementBytes));
  if (access.lanes > 1 && (access.kind == AccessKind::Load || access.kind == AccessKind::Store))
    workers_[static_cast<size_t>(access.worker)].order.onAccess(box, access.elementBytes,
                                                                access.kind == AccessKind::Store);
}

} // namespace blockscope::sanitizer
