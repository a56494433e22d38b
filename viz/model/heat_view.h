// What part of a plane is on the screen, and where accesses outside the tensor are drawn.
#pragma once

#include "viz/model/heat_map.h"
#include "viz/model/tensor_layout.h"

#include <cstdint>
#include <vector>

namespace blockscope::viz {

/// A rectangle of a plane in cells; row 0, column 0 has its upper left corner at (0, 0).
struct Region {
  double left = 0;
  double top = 0;
  double right = 1;
  double bottom = 1;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
  bool operator==(const Region &) const = default;
};

/// An accessed place outside the tensor, with the cell that it is drawn in.
struct OutsideCell {
  Cell cell;
  OutsidePlace place;
  bool isFar = false; ///< it is further away than the cell shows
  bool isGap = false; ///< it is between elements of a strided view; drawn below the tensor
};

/// The outside places of one plane, and the rectangle that holds them and the tensor.
struct OutsideCells {
  std::vector<OutsideCell> cells;
  Region content;
};

/// Places each outside place beside the tensor, at most an eighth of its size away.
OutsideCells placeOutside(const Plane &plane, const HeatMap &heat);

/// The region that shows all of `content` in `width` x `height` pixels: with square cells where the
/// shapes are alike, else stretched.
Region fitRegion(const Region &content, double width, double height);

/// Zooms by `factor` (above 1: nearer) so that the point (x, y), in cells, stays where it is.
Region zoomed(const Region &region, double factor, double x, double y, const Region &content);

/// Moves the region by cells, so far as some content stays in sight.
Region moved(const Region &region, double columns, double rows, const Region &content);

} // namespace blockscope::viz
