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
      search_(std::max(1, launch.workers)) {
  for (Worker &worker : workers_)
    worker.order.countReads(WarpOrder::readsCountIn(launch));
}

void RaceScreen::onAccess(const Access &access) {
  const Touch touch = touchOf(access);
  if (access.activeLanes == 0 ||
      (touch == Touch::Read && access.allocation && !access.allocation->mayBeStored))
    return;
  forEachBox(access, memory_, [&](const AccessBox &box, const Allocation &allocation) {
    addBox(access, touch, box, allocation);
  });
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
  workers_[static_cast<size_t>(access.worker)].order.onAccess(
      box, access.elementBytes,
      {writesMemory(access.kind), isAtomic(access.kind) || access.isVolatile, access.lanes > 1});
}

} // namespace blockscope::sanitizer
