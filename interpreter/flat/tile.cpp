// Tiles as data: their bounds, and their elements written out.
#include "interpreter/flat/tile.h"

#include "interpreter/flat/index_walk.h"

#include <algorithm>

namespace blockscope::interpreter::flat {
namespace {

template <typename T>
void writeAffine(const Tile &tile, const TileShape &shape, int64_t begin, int64_t n, T *out) {
  const int last = shape.rank - 1;
  IndexWalk walk(shape, begin);
  while (n > 0) {
    int64_t value = tile.base;
    for (int d = 0; d <= last; ++d)
      value = wrapAdd(value, wrapMul(walk.index[d], tile.strides[d]));
    const int64_t count = std::min(n, shape.sizes[last] - walk.index[last]);
    const auto first = static_cast<std::make_unsigned_t<T>>(value);
    const auto stride = static_cast<std::make_unsigned_t<T>>(tile.strides[last]);
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(first + static_cast<std::make_unsigned_t<T>>(i) * stride);
    out += count;
    n -= count;
    walk.nextRow();
  }
}

} // namespace

TileShape::TileShape(const Type &type)
    : rank(type.rank()), lanes(type.numElements()),
      isNarrow(!type.isPointer() && type.elementBytes() == 4) {
  std::copy(type.shape.begin(), type.shape.end(), sizes);
}

int64_t tileWords(const Type &type) {
  const int64_t lanes = type.numElements();
  if (type.isBool())
    return (kMaskHeader + lanes + 7) / 8;
  return kTileHeader / 8 + lanes;
}

bool tileBounds(const Tile &tile, const TileShape &shape, int64_t &least, int64_t &most) {
  least = most = tile.base;
  for (int d = 0; d < shape.rank; ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tile.strides[d], shape.sizes[d] - 1, &reach) ||
        __builtin_add_overflow(reach < 0 ? least : most, reach, reach < 0 ? &least : &most))
      return false;
  }
  return true;
}

void writeTile(const Tile &tile, const TileShape &shape, int64_t begin, int64_t n, int elementBytes,
               void *out) {
  if (tile.inBlock && elementBytes == 4) {
    std::copy_n(tile.block() + begin, n, static_cast<int32_t *>(out));
  } else if (tile.inBlock) {
    std::memcpy(out, tile.block() + begin, n * 8);
  } else if (elementBytes == 4) {
    writeAffine(tile, shape, begin, n, static_cast<int32_t *>(out));
  } else {
    auto *wide = static_cast<int64_t *>(out);
    writeAffine(tile, shape, begin, n, wide);
    if (shape.isNarrow)
      for (int64_t i = 0; i < n; ++i)
        wide[i] = static_cast<int32_t>(wide[i]);
  }
}

void writeMask(const MaskTile &mask, const TileShape &shape, int64_t begin, int64_t n,
               uint8_t *out) {
  if (mask.inBlock) {
    std::memcpy(out, mask.block() + begin, n);
    return;
  }
  const int last = shape.rank - 1;
  IndexWalk walk(shape, begin);
  while (n > 0) {
    bool isInside = true;
    for (int d = 0; d < last; ++d)
      isInside &= walk.index[d] >= mask.lo[d] && walk.index[d] < mask.hi[d];
    const int64_t column = walk.index[last];
    const int64_t count = std::min(n, shape.sizes[last] - column);
    std::memset(out, 0, count);
    const int64_t lo = std::clamp<int64_t>(mask.lo[last] - column, 0, count);
    const int64_t hi = std::clamp<int64_t>(mask.hi[last] - column, 0, count);
    if (isInside && lo < hi)
      std::memset(out + lo, 1, hi - lo);
    out += count;
    n -= count;
    walk.nextRow();
  }
}

} // namespace blockscope::interpreter::flat
