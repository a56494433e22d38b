// How much memory and time a reader spends on what a file claims.
#pragma once

#include <cstdint>
#include <string>

namespace blockscope {

/// What is left of an amount of memory.
class MemoryBudget {
public:
  explicit MemoryBudget(uint64_t bytes) : whole_(bytes), left_(bytes) {}
  /// Takes `count` times `bytes`; false when that is more than is left.
  bool take(uint64_t count, uint64_t bytes);
  /// "more than 192.0 MiB of memory, all that a reader may take here".
  std::string excuse() const;

private:
  uint64_t whole_;
  uint64_t left_;
};

/// Limits for one launch of a trace, so that a viewer takes two thirds of a machine's memory at
/// most. A file may be right and yet too large to be shown.
struct TraceLimits {
  uint64_t machineBytes = 0; ///< of memory
  /// Elements of runs that are counted one by one: those of neighbours are counted at once.
  uint64_t singleElements = uint64_t{1} << 36;

  MemoryBudget forTables() const { return MemoryBudget(machineBytes / 32); }
  MemoryBudget forAccesses() const { return MemoryBudget(machineBytes / 4); }
  MemoryBudget forCounts() const { return MemoryBudget(machineBytes / 16); }
  /// Slots of the heat maps that are kept, with one more for the choice: each has three counts;
  /// and one count for the range of time.
  int64_t heatMapSlots() const {
    return static_cast<int64_t>(machineBytes / 4 / ((2 * 3 + 1) * 4));
  }

  static TraceLimits ofThisMachine();
};

} // namespace blockscope
