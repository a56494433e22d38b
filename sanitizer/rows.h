// Rows of a block, for rules of ops that work along one axis.
#pragma once

#include "core/type.h"

namespace blockscope::sanitizer {

/// A block as rows along one axis: element k of row r is at(r, k).
struct Rows {
  int64_t count, length, inner;

  Rows(const Type &type, size_t axis) : count(0), length(type.shape[axis]), inner(1) {
    for (const int64_t size : llvm::ArrayRef(type.shape).drop_front(axis + 1))
      inner *= size;
    count = type.numElements() / length;
  }
  int64_t at(int64_t row, int64_t k) const {
    return row / inner * length * inner + row % inner + k * inner;
  }
  int64_t rowOf(int64_t i) const { return i / (length * inner) * inner + i % inner; }
};

} // namespace blockscope::sanitizer
