// Random layouts for property tests: surjective ones with copies, and arbitrary bases.
#pragma once

#include "gpu_backend/layout/f2_matrix.h"
#include "gpu_backend/layout/linear_layout.h"

#include <algorithm>
#include <random>

namespace blockscope::gpu {

using Random = std::mt19937;

inline int uniform(Random &random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline Bases randomBases(Random &random, int count, int width) {
  Bases bases;
  for (int i = 0; i < count; ++i)
    bases.push_back(uniform(random, 0, 3) == 0 ? 0 : random() & ((1u << width) - 1));
  return bases;
}

/// A surjective layout of `width` bits with 32 lanes and `1 << warpBits` warps: unit bases for even
/// seeds of chance, random invertible combinations otherwise, with zero and dependent copies.
inline LinearLayout randomLayout(Random &random, int width, int warpBits) {
  Bases bases = f2::identity(width);
  std::shuffle(bases.begin(), bases.end(), random);
  if (uniform(random, 0, 1)) {
    for (int step = 0; step < 3 * width && width > 1; ++step) {
      const int to = uniform(random, 0, width - 1), from = uniform(random, 0, width - 1);
      if (to != from)
        bases[to] ^= bases[from];
    }
  }
  const int threadBits = 5 + warpBits;
  const int copies = std::max(threadBits - width, 0) + uniform(random, 0, 2);
  for (int copy = 0; copy < copies; ++copy) {
    const ElementBits basis = uniform(random, 0, 1) ? 0 : random() & ((1u << width) - 1);
    bases.insert(bases.begin() + uniform(random, 0, static_cast<int>(bases.size())), basis);
  }
  LinearLayout layout;
  for (int bit = 0; bit < 5; ++bit)
    layout.lanes.push_back(bases.pop_back_val());
  for (int bit = 0; bit < warpBits; ++bit)
    layout.warps.push_back(bases.pop_back_val());
  layout.registers = bases;
  return layout;
}

} // namespace blockscope::gpu
