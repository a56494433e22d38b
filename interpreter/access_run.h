// Lanes of a block access that are evenly spaced in memory. Plain: kernels include it.
#pragma once

#include <cstdint>

namespace blockscope {

/// Active lanes [firstLane, firstLane + count) at address, address + stride, ...; all in bounds.
struct AccessRun {
  int64_t firstLane;
  int64_t count;
  uint64_t address; ///< a DeviceAddress
  int64_t strideBytes;
};

} // namespace blockscope
