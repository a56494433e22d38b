// Gauss-Jordan elimination on words, and what follows from it.
#include "gpu_backend/layout/f2_matrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cassert>

namespace blockscope::gpu::f2 {
namespace {

ElementBits topBit(ElementBits vector) { return llvm::bit_floor(vector); }

} // namespace

Span::Span(Columns columns) {
  for (const ElementBits column : columns)
    add(column);
}

bool Span::add(ElementBits column) {
  assert(columnCount_ < 32 && "more columns than a word has bits");
  uint32_t columns = 1u << columnCount_++;
  for (const Pivot &pivot : pivots_) {
    if (column & topBit(pivot.vector)) {
      column ^= pivot.vector;
      columns ^= pivot.columns;
    }
  }
  if (column == 0) {
    dependent_ |= 1u << (columnCount_ - 1);
    kernel_.push_back(columns);
    return false;
  }
  for (Pivot &pivot : pivots_) {
    if (pivot.vector & topBit(column)) {
      pivot.vector ^= column;
      pivot.columns ^= columns;
    }
  }
  pivots_.push_back({column, columns});
  return true;
}

ElementBits Span::reduce(ElementBits vector) const {
  for (const Pivot &pivot : pivots_)
    if (vector & topBit(pivot.vector))
      vector ^= pivot.vector;
  return vector;
}

std::optional<uint32_t> Span::solve(ElementBits vector) const {
  uint32_t columns = 0;
  for (const Pivot &pivot : pivots_) {
    if (vector & topBit(pivot.vector)) {
      vector ^= pivot.vector;
      columns ^= pivot.columns;
    }
  }
  if (vector != 0)
    return std::nullopt;
  return columns;
}

Bases Span::basis() const {
  Bases result;
  for (const Pivot &pivot : pivots_)
    result.push_back(pivot.vector);
  llvm::sort(result);
  return result;
}

Bases multiply(Columns left, Columns right) {
  Bases result;
  for (const ElementBits column : right)
    result.push_back(combine(left, column));
  return result;
}

Bases identity(int width) {
  Bases result;
  for (int bit = 0; bit < width; ++bit)
    result.push_back(ElementBits{1} << bit);
  return result;
}

int rank(Columns columns) { return Span(columns).rank(); }

std::optional<Bases> leftDivide(Columns left, Columns right) {
  const Span span(left);
  Bases result;
  for (const ElementBits column : right) {
    const std::optional<uint32_t> solution = span.solve(column);
    if (!solution)
      return std::nullopt;
    result.push_back(*solution);
  }
  return result;
}

std::optional<Bases> inverse(Columns columns) {
  return leftDivide(columns, identity(static_cast<int>(columns.size())));
}

Bases transpose(Columns columns, int height) {
  Bases result(height, 0);
  for (size_t column = 0; column < columns.size(); ++column)
    for (int row = 0; row < height; ++row)
      result[row] |= ((columns[column] >> row) & 1) << column;
  return result;
}

Bases independentSubset(Columns columns) {
  Span span;
  Bases result;
  for (const ElementBits column : columns)
    if (span.add(column))
      result.push_back(column);
  return result;
}

Bases complement(Columns columns, int width, Columns preferred) {
  // A span counts its columns; only independent ones are added, so that long lists fit.
  Span span(independentSubset(columns));
  Bases result;
  const auto take = [&](ElementBits vector) {
    if (span.contains(vector))
      return;
    span.add(vector);
    result.push_back(vector);
  };
  for (const ElementBits vector : preferred)
    take(vector);
  for (const ElementBits vector : identity(width))
    take(vector);
  return result;
}

Bases intersection(Columns first, Columns second) {
  // A relation between the columns of both says that a sum of the first equals a sum of the second.
  Bases all = independentSubset(first);
  const Bases firstBasis = all;
  llvm::append_range(all, independentSubset(second));
  Bases result;
  const uint32_t firstMask = (uint64_t{1} << firstBasis.size()) - 1;
  for (const uint32_t relation : Span(all).kernel())
    result.push_back(combine(firstBasis, relation & firstMask));
  return Span(result).basis();
}

} // namespace blockscope::gpu::f2
