// Regions of a plane: fit, zoom, move; margins for what is outside.
#include "viz/model/heat_view.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {

OutsideCells placeOutside(const Plane &plane, const HeatMap &heat) {
  OutsideCells result;
  const int64_t marginRows = std::max<int64_t>(2, plane.rows() / 8);
  const int64_t marginColumns = std::max<int64_t>(2, plane.columns() / 8);
  int64_t gaps = 0;
  for (const OutsidePlace &place : heat.outside()) {
    OutsideCell cell;
    cell.place = place;
    if (const std::optional<Cell> at = plane.cellOf(place.slot)) {
      cell.cell.row = std::clamp(at->row, -marginRows, plane.rows() - 1 + marginRows);
      cell.cell.column =
          std::clamp(at->column, -marginColumns, plane.columns() - 1 + marginColumns);
      cell.isFar = !(cell.cell == *at);
    } else if (plane.sliceCount() == 1 && plane.columns() > 0) {
      cell.isGap = true;
      cell.cell = {
          std::min(plane.rows() + 1 + gaps / plane.columns(), plane.rows() - 1 + marginRows),
          gaps % plane.columns()};
      ++gaps;
    } else {
      continue; // in another slice
    }
    result.cells.push_back(cell);
  }
  Region &content = result.content;
  content = {0, 0, static_cast<double>(std::max<int64_t>(1, plane.columns())),
             static_cast<double>(std::max<int64_t>(1, plane.rows()))};
  for (const OutsideCell &cell : result.cells) {
    content.left = std::min(content.left, static_cast<double>(cell.cell.column));
    content.top = std::min(content.top, static_cast<double>(cell.cell.row));
    content.right = std::max(content.right, static_cast<double>(cell.cell.column + 1));
    content.bottom = std::max(content.bottom, static_cast<double>(cell.cell.row + 1));
  }
  return result;
}

Region fitRegion(const Region &content, double width, double height) {
  width = std::max(1.0, width);
  height = std::max(1.0, height);
  const double padColumns = std::max(0.35, content.width() * 0.012);
  const double padRows = std::max(0.35, content.height() * 0.012);
  Region region = {content.left - padColumns, content.top - padRows, content.right + padColumns,
                   content.bottom + padRows};
  const double cellWidth = width / region.width();
  const double cellHeight = height / region.height();
  // Square cells when that leaves little room empty, else cells up to twice as long as wide; a
  // tensor that is a mere strip even so is stretched to where a cell is a twelfth of the picture.
  double cell = std::min(cellWidth, cellHeight);
  double other = std::max(cellWidth, cellHeight);
  if (other <= 1.5 * cell)
    other = cell;
  else if (other <= 5 * cell)
    other = std::min(other, 2 * cell);
  else
    other = std::min(other, std::max(std::min(width, height) / 12, cell));
  const bool isWide = cellWidth <= cellHeight;
  const double moreColumns = width / (isWide ? cell : other) - region.width();
  const double moreRows = height / (isWide ? other : cell) - region.height();
  return {region.left - moreColumns / 2, region.top - moreRows / 2, region.right + moreColumns / 2,
          region.bottom + moreRows / 2};
}

Region zoomed(const Region &region, double factor, double x, double y, const Region &content) {
  // From two cells across to twice the content.
  factor = std::min(factor, std::min(region.width(), region.height()) / 2.0);
  factor = std::max(factor, std::min(region.width() / (2 * content.width() + 4),
                                     region.height() / (2 * content.height() + 4)));
  if (!(factor > 0))
    return region;
  return moved({x - (x - region.left) / factor, y - (y - region.top) / factor,
                x + (region.right - x) / factor, y + (region.bottom - y) / factor},
               0, 0, content);
}

Region moved(const Region &region, double columns, double rows, const Region &content) {
  const auto limit = [](double move, double low, double high, double first, double last) {
    const double keep = std::min((high - low) / 4, (last - first) / 2);
    return std::clamp(move, first + keep - high, last - keep - low);
  };
  columns = limit(columns, region.left, region.right, content.left, content.right);
  rows = limit(rows, region.top, region.bottom, content.top, content.bottom);
  return {region.left + columns, region.top + rows, region.right + columns, region.bottom + rows};
}

} // namespace blockscope::viz
