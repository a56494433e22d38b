// Lanes of a block access that are evenly spaced in memory: rows and boxes. Plain: kernels include
// it.
#pragma once

#include <cstdint>

namespace blockscope::interpreter {

/// Active lanes [firstLane, firstLane + count) at address, address + stride, ...; all in bounds.
struct AccessRun {
  int64_t firstLane;
  int64_t count;
  uint64_t address; ///< a DeviceAddress
  int64_t strideBytes;
};

constexpr int kBoxRank = 4;

/// All active lanes of an access through a tile. No two of them share bytes, and all are in bounds.
struct AccessBox {
  struct Dimension {
    int64_t size;
    int64_t strideBytes;
    int64_t laneStride;
  };
  Dimension dimensions[kBoxRank]; ///< outermost first; those that run on in memory are merged
  int rank = 0;                   ///< at least 1; lanes of the last dimension are neighbours
  int64_t firstLane = 0;
  uint64_t address = 0; ///< a DeviceAddress, of the first lane
};

} // namespace blockscope::interpreter
