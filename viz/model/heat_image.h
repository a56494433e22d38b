// Pixels of a heat map: the part of a plane that is on the screen, in colours.
#pragma once

#include "viz/model/color_map.h"
#include "viz/model/heat_view.h"
#include "viz/model/trace_model.h"

#include <algorithm>
#include <vector>

namespace blockscope::viz {

inline constexpr int kAllMarks = -1;
inline constexpr int kNoMarks = -2;

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
  bool operator==(const HeatRequest &) const = default;
};

/// Colours of counts between the smallest and the greatest of a heat map.
class HeatScale {
public:
  HeatScale(uint32_t minimum, uint32_t maximum, bool logScale)
      : minimum_(std::max(1U, minimum)), maximum_(std::max(minimum_, maximum)),
        logScale_(logScale) {}
  HeatScale(const HeatMap &heat, HeatMode mode, bool logScale)
      : HeatScale(heat.minimum(mode), heat.maximum(mode), logScale) {}
  /// Position of a count on the colour bar, 0 to 1.
  float position(double count) const;
  /// The count at a position of the colour bar.
  double count(float position) const;
  Rgba color(uint32_t count) const {
    return count == 0 ? kUntouchedColor : heatColor(position(count));
  }
  uint32_t maximum() const { return maximum_; }
  /// All touched elements have one count: there is one colour.
  bool isFlat() const { return minimum_ == maximum_; }

private:
  uint32_t minimum_;
  uint32_t maximum_;
  bool logScale_;
};

/// Draws the region. Cells smaller than a pixel show the greatest count under the pixel; a place
/// outside the tensor is at least three pixels wide.
///
/// Shapes: the result has `height` rows of `width` pixels; what is no cell has the colour of the
///         background.
std::vector<Rgba> renderHeat(const TraceModel &model, const HeatRequest &request);

} // namespace blockscope::viz
