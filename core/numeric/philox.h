// Philox-4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the reference
// that tests compare the language's tl.philox with.
#pragma once

#include "core/numeric/integer.h"

#include <array>

namespace blockscope::numeric {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key,
                                      int rounds = 10) {
  for (int round = 0; round < rounds; ++round) {
    const uint32_t high0 = multiplyHigh(uint32_t(0xD2511F53), counter[0]);
    const uint32_t high1 = multiplyHigh(uint32_t(0xCD9E8D57), counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], 0xCD9E8D57u * counter[2], high0 ^ counter[3] ^ key[1],
               0xD2511F53u * counter[0]};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

} // namespace blockscope::numeric
