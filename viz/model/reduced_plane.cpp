// Reductions by maximum, each made from the smallest finer one that is there.
#include "viz/model/reduced_plane.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

ReducedPlane emptyPlane(int64_t rows, int64_t columns, int rowShift, int columnShift) {
  ReducedPlane plane;
  plane.rows = (rows + (int64_t{1} << rowShift) - 1) >> rowShift;
  plane.columns = (columns + (int64_t{1} << columnShift) - 1) >> columnShift;
  plane.values.resize(static_cast<size_t>(plane.rows * plane.columns));
  return plane;
}

} // namespace

ReducedPlanes::ReducedPlanes(const Plane &plane, const HeatMap &heat, HeatMode mode)
    : ReducedPlanes(plane.rows(), plane.columns(),
                    [&plane, &heat, mode](int64_t row, std::vector<uint32_t> &line) {
                      const int64_t first = plane.rowSlot(row);
                      const int64_t columns = plane.columnsOf(row);
                      for (int64_t column = 0; column < columns; ++column)
                        line[column] = std::max(
                            line[column], heat.value(first + column * plane.columnStride(), mode));
                    }) {}

ReducedPlane ReducedPlanes::fromPlane(int rowShift, int columnShift) const {
  ReducedPlane plane = emptyPlane(rows_, columns_, rowShift, columnShift);
  std::vector<uint32_t> line;
  for (int64_t row = 0; row < rows_; ++row) {
    line.assign(static_cast<size_t>(columns_), 0);
    readRow_(row, line);
    uint32_t *target = plane.values.data() + (row >> rowShift) * plane.columns;
    for (int64_t column = 0; column < columns_; ++column)
      target[column >> columnShift] = std::max(target[column >> columnShift], line[column]);
  }
  return plane;
}

ReducedPlane ReducedPlanes::fromFiner(const ReducedPlane &finer, int rowShift, int columnShift) {
  ReducedPlane plane = emptyPlane(finer.rows, finer.columns, rowShift, columnShift);
  for (int64_t row = 0; row < finer.rows; ++row) {
    uint32_t *target = plane.values.data() + (row >> rowShift) * plane.columns;
    for (int64_t column = 0; column < finer.columns; ++column)
      target[column >> columnShift] =
          std::max(target[column >> columnShift], finer.at(row, column));
  }
  return plane;
}

const ReducedPlane &ReducedPlanes::get(int rowShift, int columnShift) {
  const auto found = reductions_.find({rowShift, columnShift});
  if (found != reductions_.end())
    return found->second;
  const std::pair<const std::pair<int, int>, ReducedPlane> *best = nullptr;
  for (const auto &entry : reductions_)
    if (entry.first.first <= rowShift && entry.first.second <= columnShift &&
        (best == nullptr || entry.second.values.size() < best->second.values.size()))
      best = &entry;
  ReducedPlane made = best != nullptr ? fromFiner(best->second, rowShift - best->first.first,
                                                  columnShift - best->first.second)
                                      : fromPlane(rowShift, columnShift);
  return reductions_.emplace(std::make_pair(rowShift, columnShift), std::move(made)).first->second;
}

} // namespace blockscope::viz
