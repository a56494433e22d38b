// Packing and unpacking of chunks.
#include "core/trace/trace_chunk.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace blockscope {
namespace {

bool isAllDefault(const unsigned char *values, size_t width, size_t rows,
                  const unsigned char *defaultValue) {
  // Equal to its own shifted copy, and begins with the default.
  return rows == 0 || (std::memcmp(values, defaultValue, width) == 0 &&
                       std::memcmp(values, values + width, (rows - 1) * width) == 0);
}

/// Byte b of every value together, then byte b + 1.
void shuffle(const unsigned char *from, size_t width, size_t rows, unsigned char *to) {
  for (size_t byte = 0; byte < width; ++byte)
    for (size_t row = 0; row < rows; ++row)
      to[byte * rows + row] = from[row * width + byte];
}

template <size_t Width> void unshuffle(const unsigned char *from, size_t rows, unsigned char *to) {
  for (size_t row = 0; row < rows; ++row)
    for (size_t byte = 0; byte < Width; ++byte)
      to[row * Width + byte] = from[byte * rows + row];
}

} // namespace

PackedChunk packChunk(const unsigned char *values, size_t width, size_t rows, size_t chunkRows,
                      const unsigned char *defaultValue, bool evenIfDefault) {
  if (!evenIfDefault && isAllDefault(values, width, rows, defaultValue))
    return {};
  std::vector<unsigned char> whole(values, values + rows * width);
  whole.reserve(chunkRows * width);
  for (size_t row = rows; row < chunkRows; ++row)
    whole.insert(whole.end(), defaultValue, defaultValue + width);
  std::vector<unsigned char> shuffled(whole.size());
  if (width == 1)
    shuffled.swap(whole);
  else
    shuffle(whole.data(), width, chunkRows, shuffled.data());
  uLongf packedBytes = compressBound(shuffled.size());
  PackedChunk packed(packedBytes);
  compress2(packed.data(), &packedBytes, shuffled.data(), shuffled.size(), kTraceDeflateLevel);
  packed.resize(packedBytes);
  packed.shrink_to_fit();
  return packed;
}

bool unpackChunk(std::span<const unsigned char> packed, size_t width,
                 std::span<unsigned char> values) {
  std::vector<unsigned char> shuffled(width == 1 ? 0 : values.size());
  unsigned char *target = width == 1 ? values.data() : shuffled.data();
  uLongf bytes = values.size();
  if (uncompress(target, &bytes, packed.data(), packed.size()) != Z_OK || bytes != values.size())
    return false;
  const size_t rows = values.size() / width;
  if (width == 2)
    unshuffle<2>(target, rows, values.data());
  else if (width == 4)
    unshuffle<4>(target, rows, values.data());
  else if (width == 8)
    unshuffle<8>(target, rows, values.data());
  return true;
}

} // namespace blockscope
