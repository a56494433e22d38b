// What float instructions share: rounding modes, flushing, NaN, saturation.
#pragma once

#include "interpreter/ptx/kernel.h"

#include <cfenv>

namespace blockscope::interpreter::ptx {

/// Modifiers of float instructions that change the value after it was computed.
struct FloatMode {
  bool flushes = false;   ///< .ftz: subnormal inputs and results are zeros of their sign
  bool saturates = false; ///< .sat: into [0, 1], NaN is 0
  bool clips = false;     ///< .relu: negative results are 0
  int rounding = FE_TONEAREST;

  bool hasFlags() const { return flushes || saturates || clips; }
  template <typename T> T flushed(T x) const {
    return flushes && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x;
  }
  /// An input. Only fp32 flushes by itself: of narrow floats the format decides.
  template <typename T> T taken(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return flushed(x);
    else
      return x;
  }
  template <typename T> T finished(T x) const {
    if constexpr (std::is_same_v<T, float>)
      x = flushed(x);
    if (saturates)
      return x > 0 ? (x < 1 ? x : T(1)) : T(0);
    if (clips && x < 0)
      return T(0);
    if constexpr (std::is_same_v<T, float>) // the NaN of PTX
      return x != x ? std::bit_cast<float>(0x7fffffffU) : x;
    else
      return x;
  }
};

/// Runs a kernel with the host's rounding mode changed. Its loads and stores stay inside, since
/// fesetround may read and write any memory for all that the compiler knows.
inline Kernel rounded(int rounding, Kernel kernel) {
  if (rounding == FE_TONEAREST)
    return kernel;
  return [rounding, kernel = std::move(kernel)](const Lanes &lanes) {
    std::fesetround(rounding);
    kernel(lanes);
    std::fesetround(FE_TONEAREST);
  };
}

/// x + y, of which the last bit is set when it was rounded: another rounding, to a narrower format,
/// then gives what one rounding would.
inline double addToOdd(double x, double y) {
  const double sum = x + y;
  const double part = sum - x;
  const double error = (x - (sum - part)) + (y - part);
  auto bits = std::bit_cast<uint64_t>(sum);
  if (!std::isfinite(sum) || error == 0 || (bits & 1) != 0)
    return sum;
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  return std::bit_cast<double>(bits);
}

} // namespace blockscope::interpreter::ptx
