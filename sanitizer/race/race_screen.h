// The first look of tsan at a launch whose programs nothing orders: programs run on all threads,
// and only whether there can be a race at all is decided. If so, the launch is done again for the
// exact analysis and its report.
//
// Why the answer does not depend on the schedule: up to the first conflict of a run no program has
// seen what another one wrote, so each has done what it does in any other run; the two accesses
// that conflict first are made, by the same two programs, in every order of execution.
#pragma once

#include "sanitizer/observation.h"
#include "sanitizer/race/overlap_search.h"
#include "sanitizer/race/warp_order.h"

namespace blockscope::sanitizer {

class RaceScreen {
public:
  explicit RaceScreen(const LaunchInfo &launch);

  void onAccess(const Access &access);
  void onBarrier(int worker) { checkOrder(worker); }
  void onProgramEnd(int worker) { checkOrder(worker); }
  /// When all programs have ended: whether the exact analysis has to look.
  bool hasSuspects() { return search_.finish(); }

private:
  struct alignas(64) Worker {
    WarpOrder order;
  };

  void addBox(const Access &access, Touch touch, AccessBox box, const Allocation &allocation);
  void checkOrder(int worker) {
    if (workers_[static_cast<size_t>(worker)].order.mayBeBroken())
      search_.giveUp();
  }

  const MemoryMap &memory_;
  std::vector<Worker> workers_;
  OverlapSearch search_;
};

} // namespace blockscope::sanitizer
