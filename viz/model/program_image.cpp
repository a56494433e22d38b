// Rendering of the program grid.
#include "viz/model/program_image.h"

#include "viz/model/heat_image.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {

int64_t ProgramGrid::programAt(int64_t column, int64_t row, int64_t layer) const {
  if (column < 0 || column >= columns || row < 0 || row >= rows || layer < 0 || layer >= layers)
    return -1;
  const int64_t within = row * columns + column;
  return within < perLayer ? layer * perLayer + within : -1;
}

ProgramGrid gridOf(const TraceModel &model) {
  const auto &grid = model.launch().grid;
  ProgramGrid result;
  result.layers = grid[2];
  result.perLayer = grid[0] * grid[1];
  result.columns = grid[0];
  if (grid[1] == 1 && grid[0] > 16) {
    result.columns = 16;
    while (result.columns * result.columns * 5 < grid[0] * 8)
      result.columns *= 2;
  }
  result.rows = (result.perLayer + result.columns - 1) / result.columns;
  return result;
}

std::vector<Rgba> renderPrograms(const TraceModel &model, const ProgramRequest &request) {
  const ProgramGrid grid = gridOf(model);
  std::vector<Rgba> pixels(static_cast<size_t>(request.width) * request.height, 0);
  uint32_t most = 1;
  uint32_t least = UINT32_MAX;
  for (const ProgramCounts &counts : model.programCounts()) {
    if (counts.accesses > 0) {
      most = std::max(most, counts.accesses);
      least = std::min(least, counts.accesses);
    }
  }
  const HeatScale scale(std::min(least, most), most, false);
  const double columnsPerPixel = static_cast<double>(grid.columns) / request.width;
  const double rowsPerPixel = static_cast<double>(grid.rows) / request.height;
  const bool separate = columnsPerPixel * 5 <= 1 && rowsPerPixel * 5 <= 1;
  const auto range = [](double begin, double end) {
    const auto first = static_cast<int64_t>(begin);
    return std::make_pair(first, std::max(first, static_cast<int64_t>(std::ceil(end)) - 1));
  };
  for (int y = 0; y < request.height; ++y) {
    const auto [row0, row1] = range(y * rowsPerPixel, (y + 1) * rowsPerPixel);
    for (int x = 0; x < request.width; ++x) {
      const auto [column0, column1] = range(x * columnsPerPixel, (x + 1) * columnsPerPixel);
      if (separate && (static_cast<int64_t>((x + 1) * columnsPerPixel) != column0 ||
                       static_cast<int64_t>((y + 1) * rowsPerPixel) != row0))
        continue;
      uint32_t accesses = 0;
      uint32_t outside = 0;
      bool any = false;
      for (int64_t row = row0; row <= row1; ++row)
        for (int64_t column = column0; column <= column1; ++column) {
          const int64_t program = grid.programAt(column, row, request.layer);
          if (program < 0)
            continue;
          any = true;
          const ProgramCounts &counts = model.programCounts()[static_cast<size_t>(program)];
          accesses = std::max(accesses, counts.accesses);
          outside = std::max(outside, counts.outside);
        }
      // The middle of the colours: a map to choose from, calmer than the heat map.
      const Rgba color = accesses == 0
                             ? kUntouchedColor
                             : heatColor(0.2F + 0.4F * scale.position(accesses), request.colors);
      if (any)
        pixels[static_cast<size_t>(y) * request.width + x] = outside > 0 ? kOutsideColor : color;
    }
  }
  return pixels;
}

} // namespace blockscope::viz
