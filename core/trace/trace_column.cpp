// Packing of column chunks: byte shuffle and deflate, equal to HDF5's filters.
#include "core/trace/trace_column.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace blockscope {
namespace {

constexpr int kDeflateLevel = 1;

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
                      const unsigned char *defaultValue) {
  if (isAllDefault(values, width, rows, defaultValue))
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
  compress2(packed.data(), &packedBytes, shuffled.data(), shuffled.size(), kDeflateLevel);
  packed.resize(packedBytes);
  packed.shrink_to_fit();
  return packed;
}

bool unpackChunk(const PackedChunk &packed, size_t width, size_t rows, unsigned char *values) {
  std::vector<unsigned char> shuffled(width == 1 ? 0 : rows * width);
  unsigned char *target = width == 1 ? values : shuffled.data();
  uLongf bytes = rows * width;
  if (uncompress(target, &bytes, packed.data(), packed.size()) != Z_OK || bytes != rows * width)
    return false;
  if (width == 2)
    unshuffle<2>(target, rows, values);
  else if (width == 4)
    unshuffle<4>(target, rows, values);
  else if (width == 8)
    unshuffle<8>(target, rows, values);
  return true;
}

Hdf5Dataset createColumn(hid_t group, const char *name, hid_t type, size_t chunkRows,
                         const void *defaultValue) {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::max<size_t>(1, chunkRows);
  const Hdf5Space space(H5Screate_simple(1, &none, &unlimited));
  const Hdf5Properties properties(H5Pcreate(H5P_DATASET_CREATE));
  if (!space || !properties || H5Pset_chunk(properties.get(), 1, &chunk) < 0 ||
      (H5Tget_size(type) > 1 && H5Pset_shuffle(properties.get()) < 0) ||
      H5Pset_deflate(properties.get(), kDeflateLevel) < 0 ||
      H5Pset_fill_value(properties.get(), type, defaultValue) < 0)
    return {};
  return Hdf5Dataset(
      H5Dcreate2(group, name, type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
}

} // namespace blockscope
