// Arithmetic that wraps, and a walk over the indices of a shape.
#pragma once

#include "interpreter/flat/tile.h"

namespace blockscope::interpreter::flat {

inline int64_t wrapAdd(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
inline int64_t wrapMul(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

/// Walks the indices of a shape from one element on.
class IndexWalk {
public:
  IndexWalk(const TileShape &shape, int64_t begin) : shape_(shape) {
    for (int d = shape.rank - 1; d >= 0; --d) {
      index[d] = begin % shape.sizes[d];
      begin /= shape.sizes[d];
    }
  }
  /// To the first element of the next row.
  void nextRow() {
    index[shape_.rank - 1] = 0;
    for (int d = shape_.rank - 2; d >= 0; --d) {
      if (++index[d] < shape_.sizes[d])
        return;
      index[d] = 0;
    }
  }
  int64_t index[kTileRank] = {};

private:
  const TileShape &shape_;
};

} // namespace blockscope::interpreter::flat
