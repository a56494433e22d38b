// Pixels of a part of a plane: for each pixel the greatest value of the cells under it.
#pragma once

#include "viz/model/color_map.h"
#include "viz/model/heat_view.h"
#include "viz/model/tensor_layout.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace blockscope::viz {

inline constexpr double kSeparatorPixels = 7; ///< cells at least this wide are drawn apart

/// Raises `line[column - lowest]` to the values of a row, from column `lowest` to `highest`.
using RaiseRow =
    std::function<void(int64_t row, int64_t lowest, int64_t highest, std::vector<uint32_t> &line)>;

/// Rows of cells, or of blocks of them. What `lit` has no value for is dimmed; without it, nothing.
struct RasterRows {
  RaiseRow values;
  RaiseRow lit;
};

/// Where a plane is drawn.
struct RasterArea {
  Region region;
  int width = 0;
  int height = 0;
  bool operator==(const RasterArea &) const = default;
};

/// Draws a region. `rowsAt` gives the rows of blocks of 2^rowShift x 2^columnShift cells.
///
/// Shapes: the result has `height` rows of `width` pixels; what is no cell has the colour of the
///         background.
std::vector<Rgba> rasterize(const Plane &plane, const RasterArea &area,
                            const std::function<RasterRows(int rowShift, int columnShift)> &rowsAt,
                            const std::function<Rgba(uint32_t)> &colorOf);

/// Fills a cell that is at least three pixels wide, whatever lies below it.
void fillCell(Cell cell, Rgba color, const RasterArea &area, std::vector<Rgba> &pixels);

} // namespace blockscope::viz
