// Synthetic traces for tests: what a vector add, a matmul and a broken kernel would record.
#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <string>

namespace blockscope {

/// x + y of `elements` fp32 values in blocks of `block`, the tail masked off.
bool writeVectorAddTrace(const std::string &path, int64_t elements, int64_t block);

/// a @ b of `size`^2 fp16 values in tiles of 32x32x32.
bool writeMatmulTrace(const std::string &path, int64_t size);

/// Sum of rows of a 13x100 fp32 tensor in blocks of 128 with no mask: each row reads 28 elements of
/// the next one, the last row reads 28 past the end; one store goes before the start of the output.
bool writeBrokenTrace(const std::string &path);

/// A gather from a 1000x1000 fp32 table: `accesses` runs of one element, in seeded random order.
bool writeGatherTrace(const std::string &path, int64_t accesses);

/// Two launches: a rank-3 tensor (4, 6, 10), and a strided view of a wider buffer.
bool writeViewsTrace(const std::string &path);

} // namespace blockscope
