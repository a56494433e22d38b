// The floating-point operations of an op that runs.
//
// Counted are the operations that round: sums, differences, products, quotients, functions; a fused
// multiply-add is two, an element of a dot 2 K, a reduction one less than it has elements for each
// such op of its region. Comparisons, minima, absolute values, casts and moves are none.
#pragma once

#include "sanitizer/observation.h"

#include <cstdint>
#include <optional>
#include <string>

namespace blockscope::sanitizer {

struct OpWork {
  std::string unit;  ///< "tensor" for dots that tensor cores do, else "vector"
  std::string dtype; ///< "fp32"; "tf32" and "fp8" for dots
  int64_t flops = 0;
};

/// Nothing where an event has no floating-point operations. `dotsAreTf32`: on the GPU that the work
/// is for, dots of fp32 are computed in tf32, as they are there unless a kernel asks for more; on
/// the CPU they are exact.
std::optional<OpWork> workOf(const OpValues &event, bool dotsAreTf32);

} // namespace blockscope::sanitizer
