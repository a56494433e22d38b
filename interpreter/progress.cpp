// The numbers are of the process, not of a launch: who asks holds no launch, which may be gone.
#include "interpreter/progress.h"

#include <atomic>

namespace blockscope::interpreter {

namespace {
std::atomic<int64_t> begun{0};
std::atomic<int64_t> programs{0};
} // namespace

Progress progressOfLaunch() {
  return {begun.load(std::memory_order_relaxed), programs.load(std::memory_order_relaxed)};
}

void noteProgress(Progress progress) {
  begun.store(progress.begun, std::memory_order_relaxed);
  programs.store(progress.programs, std::memory_order_relaxed);
}

} // namespace blockscope::interpreter
