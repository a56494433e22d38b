// A plane of counts reduced by maximum over blocks of cells, so that a big tensor draws in the time
// of the screen's pixels.
#pragma once

#include "viz/model/heat_map.h"
#include "viz/model/tensor_layout.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace blockscope::viz {

/// Maxima over blocks of 2^columnShift x 2^rowShift cells.
struct ReducedPlane {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<uint32_t> values;
  uint32_t at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

/// The reductions of one plane in one mode, made when first asked for.
class ReducedPlanes {
public:
  /// Raises `line[column]` to the values of a row.
  using ReadRow = std::function<void(int64_t row, std::vector<uint32_t> &line)>;
  ReducedPlanes(int64_t rows, int64_t columns, ReadRow readRow)
      : rows_(rows), columns_(columns), readRow_(std::move(readRow)) {}
  ReducedPlanes(const Plane &plane, const HeatMap &heat, HeatMode mode);

  /// Shapes: `rows` and `columns` are those of the plane, divided by the block and rounded up.
  const ReducedPlane &get(int rowShift, int columnShift);

private:
  ReducedPlane fromPlane(int rowShift, int columnShift) const;
  static ReducedPlane fromFiner(const ReducedPlane &finer, int rowShift, int columnShift);

  int64_t rows_;
  int64_t columns_;
  ReadRow readRow_;
  std::map<std::pair<int, int>, ReducedPlane> reductions_;
};

} // namespace blockscope::viz
