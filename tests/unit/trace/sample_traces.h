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

/// A kernel that copies a 16x16 fp32 tensor row by row, one program a row, with one finding of each
/// kind that has a drawing: undefined elements of x_ptr (row 3, columns 4 to 11), a hole of out_ptr
/// (columns 12 to 15 of each row), a race of programs 1 and 2 on element [2, 5] of out_ptr, a NaN
/// in element [6, 0] of out_ptr, a deadlock of programs 4 and 5 on two elements of lock_ptr, and
/// one of a launch that is not in the file.
bool writeFindingsTrace(const std::string &path);

} // namespace blockscope
