// Measures one stage of the compiler.
#pragma once

#include "gpu_backend/gpu_kernel.h"

#include <chrono>

namespace blockscope::gpu {

class StageTimer {
public:
  StageTimer(std::vector<StageTime> &times, std::string stage)
      : times_(times), stage_(std::move(stage)), begin_(std::chrono::steady_clock::now()) {}
  ~StageTimer() {
    const auto elapsed = std::chrono::steady_clock::now() - begin_;
    times_.push_back(
        {stage_, std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()});
  }
  StageTimer(const StageTimer &) = delete;
  StageTimer &operator=(const StageTimer &) = delete;

private:
  std::vector<StageTime> &times_;
  std::string stage_;
  std::chrono::steady_clock::time_point begin_;
};

} // namespace blockscope::gpu
