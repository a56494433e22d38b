// Pixels of a heat map: the part of a plane that is on the screen, in colours.
#pragma once

#include "viz/model/cell_raster.h"
#include "viz/model/color_map.h"
#include "viz/model/heat_view.h"
#include "viz/model/trace_model.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace blockscope::viz {

inline constexpr int kAllMarks = -1;
inline constexpr int kNoMarks = -2;

/// The counts that the colours of a heat map lie between.
struct CountRange {
  uint32_t minimum = 0;
  uint32_t maximum = 0;
  bool operator==(const CountRange &) const = default;
};

/// Colours of counts between the smallest and the greatest of a heat map.
class HeatScale {
public:
  HeatScale(uint32_t minimum, uint32_t maximum, bool logScale,
            CountColors colors = CountColors::Viridis)
      : minimum_(std::max(1U, minimum)), maximum_(std::max(minimum_, maximum)), logScale_(logScale),
        colors_(colors) {}
  HeatScale(const HeatMap &heat, HeatMode mode, bool logScale,
            CountColors colors = CountColors::Viridis)
      : HeatScale(heat.minimum(mode), heat.maximum(mode), logScale, colors) {}
  /// Position of a count on the colour bar, 0 to 1.
  float position(double count) const;
  /// The count at a position of the colour bar.
  double count(float position) const;
  Rgba color(uint32_t count) const {
    return count == 0 ? kUntouchedColor : heatColor(position(count), colors_);
  }
  uint32_t maximum() const { return maximum_; }
  /// All touched elements have one count: there is one colour.
  bool isFlat() const { return minimum_ == maximum_; }

private:
  uint32_t minimum_;
  uint32_t maximum_;
  bool logScale_;
  CountColors colors_;
};

/// Everything that the picture depends on: equal requests give equal pixels.
struct HeatRequest {
  int argument = 0;
  int64_t slice = -1;
  HeatMode mode = HeatMode::Both;
  bool logScale = false;
  RunFilter lit;        ///< what it lets through is bright, the rest dim; any: all is bright
  int marks = kNoMarks; ///< a finding's number, or all findings, or none
  Region region;
  int width = 0;
  int height = 0;
  CountColors colors = CountColors::Viridis;
  std::optional<CountRange> range = std::nullopt; ///< of the colours, else the tensor's own
  std::optional<TimeRange> time = std::nullopt;   ///< only these accesses are counted; else all
  /// Of a moment counts begin with 1, whatever they come to in the end.
  HeatScale scale(const HeatMap &heat) const {
    if (time && !range)
      return {1, heat.maximum(mode), logScale, colors};
    return range ? HeatScale(range->minimum, range->maximum, logScale, colors)
                 : HeatScale(heat, mode, logScale, colors);
  }
  bool operator==(const HeatRequest &) const = default;
};

/// Counts of a plane, or of its reductions, as the rows of a picture.
RaiseRow countRows(const Plane &plane, const HeatMap &heat, HeatMode mode, ReducedPlanes &reduced,
                   int rowShift, int columnShift);
/// What `lit` lets through.
RaiseRow litRows(const TraceModel &model, int argument, int64_t slice, RunFilter lit, int rowShift,
                 int columnShift);

/// Draws the region. Cells smaller than a pixel show the greatest count under the pixel; a place
/// outside the tensor is at least three pixels wide.
///
/// A range of time is counted for about as long as `budget`: then the picture is of what has been
/// counted so far, and the model's `timedHeat` says whether that is all.
///
/// Shapes: the result has `height` rows of `width` pixels; what is no cell has the colour of the
///         background.
std::vector<Rgba> renderHeat(const TraceModel &model, const HeatRequest &request,
                             std::chrono::nanoseconds budget = std::chrono::nanoseconds::max());

} // namespace blockscope::viz
