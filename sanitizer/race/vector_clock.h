// Happens-before between programs: a sparse vector clock for each program that synchronises.
#pragma once

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <cstdint>

namespace blockscope::sanitizer {

/// What a program has seen of the others: program -> the latest of its epochs. Absent is 0:
/// nothing.
class VectorClock {
public:
  uint32_t get(uint32_t program) const {
    const auto found = seen_.find(program);
    return found == seen_.end() ? 0 : found->second;
  }
  void raise(uint32_t program, uint32_t epoch) {
    uint32_t &seen = seen_[program];
    seen = std::max(seen, epoch);
  }
  void join(const VectorClock &other) {
    for (const auto &[program, epoch] : other.seen_)
      raise(program, epoch);
  }
  bool empty() const { return seen_.empty(); }

private:
  llvm::DenseMap<uint32_t, uint32_t> seen_;
};

} // namespace blockscope::sanitizer
