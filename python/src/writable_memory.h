// Whether this process may write to memory that it did not allocate.
#pragma once

#include <cstdint>

namespace blockscope::python {

/// False for memory where a store would end the process: files that are mapped to be read.
/// `begin` is an address, and `bytes` may be 0. Of the memory the first and the last page count,
/// which belong to one mapping in what libraries hand out.
bool isWritable(uint64_t begin, uint64_t bytes);

} // namespace blockscope::python
