// What the accesses of an op would move on a GPU: the sectors of 32 bytes that each request of a
// warp touches, and the fewest that would hold its bytes.
//
// The GPU compiler says which thread has which element (core/memory_plan.h), the run on the CPU
// says where the elements are. Storages are taken to begin at a sector, as those of torch do on a
// GPU.
#pragma once

#include "core/memory_plan.h"
#include "sanitizer/observation.h"

#include <cstdint>
#include <vector>

namespace blockscope::sanitizer {

struct Traffic {
  int64_t accesses = 0; ///< of blocks
  int64_t requests = 0; ///< of warps, that some thread takes part in
  int64_t sectors = 0;
  int64_t leastSectors = 0;
  Traffic &operator+=(const Traffic &other);
};

/// Counts accesses; keeps memory from one to the next.
class TrafficCounter {
public:
  void add(const Access &access, const AccessPlan &plan, const MemoryMap *memory, Traffic &traffic);

private:
  bool findElements(const Access &access, const MemoryMap *memory);
  void endRequest(int64_t pieceBytes, Traffic &traffic);

  std::vector<uint64_t> elements_; ///< by lane: where it is, or 0 when it is not active
  std::vector<uint64_t> pieces_;   ///< where the threads of a request begin
};

} // namespace blockscope::sanitizer
