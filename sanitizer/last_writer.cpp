// An observer that answers one question: who stored the byte at this address last.
#include "sanitizer/last_writer.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscope::sanitizer {

void LastWriter::onLaunchBegin(const LaunchInfo &launch) {
  grid_ = launch.grid;
  memory_ = launch.memory;
}

bool LastWriter::covers(const Access &access, const AccessRun &run) const {
  // Lanes of a run can reach several tensors, whose host addresses are not evenly spaced.
  for (int64_t lane = 0; lane < run.count; ++lane) {
    const uint64_t place = run.address + static_cast<uint64_t>(lane * run.strideBytes);
    const Allocation *allocation = access.allocation ? access.allocation : memory_->find(place);
    if (allocation == nullptr)
      continue;
    const auto host =
        reinterpret_cast<uint64_t>(allocation->hostAt(MemoryMap::offsetIn(*allocation, place)));
    if (address_ >= host && address_ - host < static_cast<uint64_t>(access.elementBytes))
      return true;
  }
  return false;
}

void LastWriter::onAccess(const Access &access) {
  if (!writesMemory(access.kind) ||
      llvm::none_of(access.runs, [&](const AccessRun &run) { return covers(access, run); }))
    return;
  const int64_t x = grid_[0], y = grid_[1];
  const std::lock_guard<std::mutex> lock(mutex_);
  found_ =
      Write{{static_cast<int32_t>(access.program % x), static_cast<int32_t>(access.program / x % y),
             static_cast<int32_t>(access.program / (x * y))},
            access.op->name,
            access.op->location};
}

} // namespace blockscope::sanitizer
