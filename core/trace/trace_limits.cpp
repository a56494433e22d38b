// What this machine has.
#include "core/trace/trace_limits.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <unistd.h>

namespace blockscope {

TraceLimits TraceLimits::ofThisMachine() {
  constexpr uint64_t kLeast = uint64_t{1} << 30; // where the system does not say
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long pageBytes = sysconf(_SC_PAGESIZE);
  TraceLimits limits;
  limits.machineBytes = kLeast;
  if (pages > 0 && pageBytes > 0)
    limits.machineBytes =
        std::max(kLeast, static_cast<uint64_t>(pages) * static_cast<uint64_t>(pageBytes));
  return limits;
}

bool MemoryBudget::take(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(count, bytes, &product) || product > left_)
    return false;
  left_ -= product;
  return true;
}

std::string MemoryBudget::excuse() const {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(),
                "more than %.1f MiB of memory, all that a reader may take here",
                static_cast<double>(whole_) / (1 << 20));
  return text.data();
}

} // namespace blockscope
