// Bytes with their runs of zeros written short: most of an HDF5 file is zeros that mean nothing.
//
// A byte 0 is followed by two bytes, little-endian: how many zeros there are. So the files of a
// corpus are small, and what a fuzzer changes mostly means something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace blockscope::fuzz {

/// Writes the runs out, up to `most` bytes.
inline std::vector<unsigned char> expandZeros(std::span<const uint8_t> packed, size_t most) {
  std::vector<unsigned char> bytes;
  for (size_t at = 0; at < packed.size() && bytes.size() < most; ++at) {
    if (packed[at] != 0) {
      bytes.push_back(packed[at]);
      continue;
    }
    const size_t low = at + 1 < packed.size() ? packed[at + 1] : 1;
    const size_t high = at + 2 < packed.size() ? packed[at + 2] : 0;
    bytes.insert(bytes.end(), low + 256 * high, 0);
    at += 2;
  }
  if (bytes.size() > most)
    bytes.resize(most);
  return bytes;
}

inline std::vector<unsigned char> packZeros(std::span<const unsigned char> bytes) {
  constexpr size_t kLongest = 65535;
  std::vector<unsigned char> packed;
  for (size_t at = 0; at < bytes.size();) {
    size_t end = at;
    while (end < bytes.size() && bytes[end] == 0 && end - at < kLongest)
      ++end;
    if (end == at) {
      packed.push_back(bytes[at++]);
      continue;
    }
    packed.insert(packed.end(), {0, static_cast<unsigned char>((end - at) & 255),
                                 static_cast<unsigned char>((end - at) >> 8)});
    at = end;
  }
  return packed;
}

} // namespace blockscope::fuzz
