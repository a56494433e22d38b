// Rendering of a region of a plane, row by row of pixels.
#include "viz/model/cell_raster.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

/// For each pixel along one axis: the (reduced) cells under it.
struct AxisMap {
  int shift = 0;
  double cellsPerPixel = 1;
  std::vector<int64_t> first; ///< empty ranges (last < first) are outside the plane
  std::vector<int64_t> last;
  std::vector<char> isSeparator;

  AxisMap(double begin, double end, int pixels, int64_t cells) {
    cellsPerPixel = (end - begin) / pixels;
    while (cellsPerPixel >= static_cast<double>(int64_t{2} << shift))
      ++shift;
    const auto at = [&](double pixel) { return begin + pixel * cellsPerPixel; };
    for (int pixel = 0; pixel < pixels; ++pixel) {
      int64_t low = 0;
      int64_t high = -1;
      bool separator = false;
      if (cellsPerPixel <= 1) {
        const double middle = at(pixel + 0.5);
        low = high = static_cast<int64_t>(std::floor(middle));
        separator = cellsPerPixel * kSeparatorPixels <= 1 && low > 0 &&
                    std::floor(at(pixel - 0.5)) != std::floor(middle);
      } else {
        low = static_cast<int64_t>(std::floor(at(pixel)));
        high = std::max(low, static_cast<int64_t>(std::ceil(at(pixel + 1))) - 1);
      }
      if (high < 0 || low >= cells) {
        low = 0;
        high = -1;
      } else {
        low = std::max<int64_t>(0, low) >> shift;
        high = std::min(high, cells - 1) >> shift;
      }
      first.push_back(low);
      last.push_back(high);
      isSeparator.push_back(separator ? 1 : 0);
    }
  }
  int64_t lowest() const {
    int64_t value = INT64_MAX;
    for (size_t pixel = 0; pixel < first.size(); ++pixel)
      if (last[pixel] >= first[pixel])
        value = std::min(value, first[pixel]);
    return value;
  }
  int64_t highest() const { return *std::max_element(last.begin(), last.end()); }
};

Rgba darkened(Rgba color) {
  return (color >> 1U & 0x7f7f7fU) + (color >> 2U & 0x3f3f3fU) | (color & 0xff000000U);
}

} // namespace

std::vector<Rgba> rasterize(const Plane &plane, const RasterArea &area,
                            const std::function<RasterRows(int rowShift, int columnShift)> &rowsAt,
                            const std::function<Rgba(uint32_t)> &colorOf) {
  const auto width = static_cast<size_t>(area.width);
  std::vector<Rgba> pixels(width * static_cast<size_t>(area.height), kPlotBackground);
  const AxisMap xs(area.region.left, area.region.right, area.width, plane.columns());
  const AxisMap ys(area.region.top, area.region.bottom, area.height, plane.rows());
  const int64_t lowest = xs.lowest();
  const int64_t highest = xs.highest();
  const bool isApart = std::max(xs.cellsPerPixel, ys.cellsPerPixel) * kSeparatorPixels <= 1;
  const RasterRows rows = rowsAt(ys.shift, xs.shift);
  const bool dims = rows.lit != nullptr;
  std::vector<uint32_t> line;
  std::vector<uint32_t> litLine;
  for (size_t y = 0; y < ys.first.size() && lowest <= highest; ++y) {
    Rgba *out = pixels.data() + y * width;
    if (ys.last[y] < ys.first[y])
      continue;
    if (y > 0 && ys.first[y] == ys.first[y - 1] && ys.last[y] == ys.last[y - 1] &&
        ys.isSeparator[y] == ys.isSeparator[y - 1]) {
      std::copy(out - width, out, out); // the same cells as the row above
      continue;
    }
    line.assign(static_cast<size_t>(highest - lowest + 1), 0);
    litLine.assign(line.size(), 0);
    for (int64_t row = ys.first[y]; row <= ys.last[y]; ++row) {
      rows.values(row, lowest, highest, line);
      if (dims)
        rows.lit(row, lowest, highest, litLine);
    }
    const int64_t columns = plane.columnsOf(ys.first[y] << ys.shift);
    for (size_t x = 0; x < width; ++x) {
      if (xs.last[x] < xs.first[x] || xs.first[x] << xs.shift >= columns)
        continue;
      uint32_t value = 0;
      uint32_t lit = 0;
      for (int64_t column = xs.first[x]; column <= xs.last[x]; ++column) {
        value = std::max(value, line[column - lowest]);
        lit = std::max(lit, litLine[column - lowest]);
      }
      Rgba color = colorOf(value);
      if (dims && lit == 0)
        color = dimmed(color);
      out[x] =
          isApart && (xs.isSeparator[x] != 0 || ys.isSeparator[y] != 0) ? darkened(color) : color;
    }
  }
  return pixels;
}

void fillCell(Cell cell, Rgba color, const RasterArea &area, std::vector<Rgba> &pixels) {
  const double scaleX = area.width / area.region.width();
  const double scaleY = area.height / area.region.height();
  const int gap = std::min(scaleX, scaleY) >= kSeparatorPixels ? 1 : 0;
  const double left = (static_cast<double>(cell.column) - area.region.left) * scaleX;
  const double top = (static_cast<double>(cell.row) - area.region.top) * scaleY;
  const int x0 = static_cast<int>(std::lround(left)) + gap;
  const int y0 = static_cast<int>(std::lround(top)) + gap;
  const int x1 = std::max(x0 + 3, static_cast<int>(std::lround(left + scaleX)));
  const int y1 = std::max(y0 + 3, static_cast<int>(std::lround(top + scaleY)));
  for (int y = std::max(0, y0); y < std::min(y1, area.height); ++y)
    for (int x = std::max(0, x0); x < std::min(x1, area.width); ++x)
      pixels[static_cast<size_t>(y) * area.width + x] = color;
}

} // namespace blockscope::viz
