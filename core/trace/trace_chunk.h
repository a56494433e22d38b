// Chunks of a column of access runs: typed values, shuffled and deflated, equal to HDF5's filters.
//
// Chunks are packed here and handed to HDF5 as bytes, so several threads can compress at once. A
// chunk that holds only the column's default is not written at all: it reads as the default.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace blockscope {

inline constexpr size_t kTraceChunkRows = size_t{1} << 16;
inline constexpr int kTraceDeflateLevel = 1;

/// Bytes of one chunk as they go to disk; empty when the chunk is all default.
using PackedChunk = std::vector<unsigned char>;

/// Packs `rows` values of `width` bytes as HDF5's shuffle and deflate filters do; `defaultValue` is
/// one value. Rows up to `chunkRows` are filled with the default. With `evenIfDefault` the result
/// is never empty. Errors: none. An allocation that fails ends the process.
PackedChunk packChunk(const unsigned char *values, size_t width, size_t rows, size_t chunkRows,
                      const unsigned char *defaultValue, bool evenIfDefault);

/// Undoes `packChunk` into `values`, which has room for a whole chunk of values of `width` bytes.
/// Errors: false when the bytes are no such chunk.
bool unpackChunk(std::span<const unsigned char> packed, size_t width,
                 std::span<unsigned char> values);

} // namespace blockscope
