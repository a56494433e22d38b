// What the launcher encodes into a tensor map, the description of a tensor in memory from which TMA
// copies boxes. The compiler writes it, with numbers as expressions over the kernel's arguments.
//
// An expression is postfix, its words separated by blanks, on signed 64-bit numbers that wrap:
//   a3         the 8 bytes of run-time argument 3
//   12         a number
//   s32, u32   the low 32 bits, with their sign or with zeros above them (also 8 and 16)
//   + - *      of the two numbers below
//   / min max  the same; / rounds towards zero, and has no value for a divisor of 0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace blockscope {

/// Dimensions go from the contiguous one to the outermost.
struct TensorMap {
  int elementBytes = 2;
  int swizzleBytes = 0; ///< 0, 32, 64 or 128
  std::vector<int64_t> box;
  std::string base;                 ///< in bytes
  std::vector<std::string> sizes;   ///< in elements
  std::vector<std::string> strides; ///< in elements, without that of the contiguous dimension
};

} // namespace blockscope
