// The grid of programs as a picture: how much each accessed, and which left a tensor.
#pragma once

#include "viz/model/color_map.h"
#include "viz/model/trace_model.h"

#include <vector>

namespace blockscope::viz {

/// How a grid lies in a picture: x across and y down; one dimension is wrapped; one z at a time.
struct ProgramGrid {
  int64_t columns = 1;
  int64_t rows = 1;
  int64_t layers = 1;
  int64_t perLayer = 1; ///< programs of a layer
  /// Cell of a program in its layer, and back; -1 when there is none.
  int64_t programAt(int64_t column, int64_t row, int64_t layer) const;
};

ProgramGrid gridOf(const TraceModel &model);

struct ProgramRequest {
  int64_t layer = 0;
  int width = 0;
  int height = 0;
  const TraceModel *model = nullptr;
  CountColors colors = CountColors::Viridis;
  bool operator==(const ProgramRequest &) const = default;
};

/// Draws a layer. A program that accessed something outside a tensor is red.
///
/// Shapes: `height` rows of `width` pixels; what is no program is transparent.
std::vector<Rgba> renderPrograms(const TraceModel &model, const ProgramRequest &request);

} // namespace blockscope::viz
