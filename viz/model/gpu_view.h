// What a trace predicts of a launch on a GPU, prepared for looking at: the sectors and wavefronts
// of each memory op, and the launch beneath the GPU's roofs.
#pragma once

#include "viz/model/trace_model.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::viz {

/// What to do for a prediction where a launch has none.
inline constexpr const char *kHowToPredict = "record it with blockscope trace --target sm_90";

/// How much more than needed something takes; 1 where nothing is known.
double ratioOf(int64_t taken, int64_t least);

/// From these ratios on a row stands out, and is bad.
inline constexpr double kNotableRatio = 1.25;
inline constexpr double kBadRatio = 2;

/// The row of `launch().gpu.traffic` of an op; null when there is none.
const TraceTraffic *trafficOf(const TraceModel &model, int32_t op);

/// Rows of `launch().gpu.traffic`, and of its exchanges, as the panel lists them: in the order of
/// the source, or the worst first.
std::vector<size_t> trafficOrder(const TraceModel &model, bool worstFirst);
std::vector<size_t> exchangeOrder(const TraceModel &model, bool worstFirst);

/// One kind of floating-point operations of the launch.
struct WorkKind {
  std::string unit; ///< "tensor" or "vector"
  std::string dtype;
  int64_t flops = 0;
  int64_t peak = 0; ///< flops per second; 0 where it is not known
};

/// Part of the launch that a source line brings.
struct LineWork {
  int64_t flops = 0;
  int64_t bytes = 0;
};

/// The launch as a point below the roofs.
///
/// Units: bytes and flops of the launch; seconds are the least that the GPU takes.
struct Roofline {
  int64_t flops = 0;
  int64_t bytesAsked = 0; ///< of all accesses; atomics read and write
  int64_t bytesOnce = 0;  ///< each element that is read, and each that is written, once
  std::vector<WorkKind> kinds;
  double bytesPerSecond = 0;
  double computeSeconds = 0; ///< of the busier kind of units; 0 where a peak is not known
  std::map<std::pair<int, int>, LineWork> lines; ///< by source and line

  /// Flops per second that the units could do with this mix of work; 0 when not known.
  double computeRoof() const {
    return computeSeconds > 0 ? static_cast<double>(flops) / computeSeconds : 0;
  }
  /// Flops for each byte.
  double intensity(int64_t bytes) const {
    return bytes > 0 ? static_cast<double>(flops) / static_cast<double>(bytes) : 0;
  }
  /// The most flops per second, where so many bytes are moved; 0 when not known.
  double attainable(int64_t bytes) const;
  LineWork ofLine(int source, int line) const;
};

/// Looks at all accesses, and at the heat map of each tensor that can be shown.
Roofline rooflineOf(const TraceModel &model);

} // namespace blockscope::viz
