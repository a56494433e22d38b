// Where the elements of a tensor argument are: between byte offsets, indices and cells of a plane.
//
// A slot is an element-sized place counted from the lowest element of the view. A strided view has
// slots that are no elements (gaps). A plane is the two-dimensional picture of a tensor: rank 1 is
// wrapped into rows, leading dimensions of rank 3 and more are flattened or picked as one slice.
#pragma once

#include "core/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace blockscope::viz {

/// Rounds toward minus infinity; `by` is positive.
inline int64_t floorDivide(int64_t value, int64_t by) {
  return value >= 0 ? value / by : -((-value + by - 1) / by);
}

/// Shape and strides of a tensor argument, with the dimensions of extent 1 put aside.
class TensorLayout {
public:
  explicit TensorLayout(const TraceArgument &argument);

  int64_t elementBytes() const { return elementBytes_; }
  /// Product of the extents.
  int64_t elementCount() const { return elementCount_; }
  /// Slots from the lowest to the highest element of the view, both included; 0 when empty.
  int64_t slotCount() const { return slotCount_; }
  /// Slot of the element that holds the byte at `offsetBytes`; may be outside [0, slotCount).
  int64_t slotOf(int64_t offsetBytes) const {
    return (elementShift_ >= 0 ? offsetBytes >> elementShift_
                               : floorDivide(offsetBytes, elementBytes_)) -
           lowest_;
  }
  bool isAligned(int64_t offsetBytes) const {
    return elementShift_ >= 0 ? (offsetBytes & (elementBytes_ - 1)) == 0
                              : offsetBytes % elementBytes_ == 0;
  }
  /// Whether each access of a run is of one element: as wide as one, and aligned.
  bool isRunOfElements(const TraceRun &run) const {
    return run.elementBytes == elementBytes_ && isAligned(run.offsetBytes) &&
           isAligned(run.innerStrideBytes) && isAligned(run.outerStrideBytes);
  }
  /// Whether each row of a run is of elements that follow one another.
  bool isRunOfNeighbours(const TraceRun &run) const {
    return isRunOfElements(run) && run.innerStrideBytes == elementBytes_;
  }
  int64_t offsetBytesOf(int64_t slot) const { return (slot + lowest_) * elementBytes_; }
  /// True when every slot is an element.
  bool isDense() const { return isDense_; }
  bool isElement(int64_t slot) const;
  /// Index in the tensor's own rank; outside the view the index it would have.
  std::vector<int64_t> indexOf(int64_t slot) const;

  const std::vector<int64_t> &shape() const { return shape_; }

private:
  friend class Plane;
  struct Dim {
    int64_t extent;
    int64_t stride; ///< in elements
    size_t axis;    ///< in the tensor's own rank
  };
  /// Indices along `dims_`; the dimension of the largest stride takes what is outside.
  std::vector<int64_t> decompose(int64_t slot, int64_t &gap) const;

  std::vector<int64_t> shape_;
  std::vector<Dim> dims_;        ///< extents above 1, in order of the axes
  std::vector<size_t> byStride_; ///< indices into dims_, largest stride first, no stride 0
  int64_t elementBytes_;
  int elementShift_ = -1; ///< log2 of elementBytes_, when it is a power of two
  int64_t lowest_ = 0;    ///< lowest element offset
  int64_t slotCount_ = 0;
  int64_t elementCount_ = 1;
  bool isDense_ = true;
};

/// A cell of a plane; outside cells have a row or column outside the plane.
struct Cell {
  int64_t row = 0;
  int64_t column = 0;
  bool operator==(const Cell &) const = default;
};

/// The two-dimensional view of a tensor.
class Plane {
public:
  /// `slice` picks one index of the flattened dimensions before the last two; -1 shows all of them
  /// below one another.
  Plane(const TensorLayout &layout, int64_t slice);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  /// Columns of `row` that are elements: fewer in the last row of a wrapped tensor.
  int64_t columnsOf(int64_t row) const;
  bool isWrapped() const { return isWrapped_; }
  /// Slices that the tensor has; 1 when its rank is 2 or less.
  int64_t sliceCount() const { return sliceCount_; }
  int64_t slice() const { return slice_; }

  bool contains(Cell cell) const {
    return cell.row >= 0 && cell.row < rows_ && cell.column >= 0 &&
           cell.column < columnsOf(cell.row);
  }
  /// Slot of column 0 of a row in the plane.
  int64_t rowSlot(int64_t row) const;
  int64_t columnStride() const { return columnStride_; }
  int64_t slotOf(Cell cell) const { return rowSlot(cell.row) + cell.column * columnStride_; }

  /// Cell of a slot, which may be outside the tensor; nothing when it is in another slice, or in a
  /// gap that has no place in the plane.
  std::optional<Cell> cellOf(int64_t slot) const;

  /// What the first column of a row is called: "(2, 5)" with leading dimensions, or "5".
  std::string rowLabel(int64_t row) const;

private:
  const TensorLayout *layout_;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
  int64_t columnStride_ = 0;
  int64_t elements_ = 0; ///< of a wrapped tensor
  int64_t sliceCount_ = 1;
  int64_t slice_ = -1;
  bool isWrapped_ = false;
};

/// "[3, 17]".
std::string indexText(const std::vector<int64_t> &index);

} // namespace blockscope::viz
