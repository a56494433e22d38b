// One column of access runs on its way into the file: typed values, shuffled, deflated, by chunks.
//
// Chunks are compressed here and handed to HDF5 as bytes, so several threads can compress at once.
// A chunk that holds only the column's default is not written at all: HDF5 reads it as the default.
#pragma once

#include "core/trace/hdf5_handle.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockscope {

inline constexpr size_t kTraceChunkRows = size_t{1} << 16;

/// Bytes of one chunk as they go to disk; empty when the chunk is all default.
using PackedChunk = std::vector<unsigned char>;

/// Packs `rows` values of `width` bytes as HDF5's shuffle and deflate filters do; `default_` is one
/// value. Rows up to `chunkRows` are filled with the default.
/// Errors: none. An allocation that fails ends the process.
PackedChunk packChunk(const unsigned char *values, size_t width, size_t rows, size_t chunkRows,
                      const unsigned char *defaultValue);

/// Undoes `packChunk` into `values`, which has room for `rows` values.
/// Errors: false when the bytes are no such chunk.
bool unpackChunk(const PackedChunk &packed, size_t width, size_t rows, unsigned char *values);

/// Makes an extendible, chunked, shuffled and deflated dataset of one dimension.
Hdf5Dataset createColumn(hid_t group, const char *name, hid_t type, size_t chunkRows,
                         const void *defaultValue);

} // namespace blockscope
