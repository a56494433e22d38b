// Linear algebra over F2 on matrices given by columns: the arithmetic beneath every layout query.
//
// A column is a bit string (ElementBits) and a vector over the columns is one too: bit i of it
// takes column i. At most 32 rows and 32 columns, so a matrix is a short array of words and
// elimination is a few XORs.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include <optional>

namespace blockscope::gpu::f2 {

using Columns = llvm::ArrayRef<ElementBits>;

/// The subspace that columns generate, built one column at a time; it remembers which columns make
/// which vector.
///
/// Columns that depend on earlier ones are never used in a solution, so solutions are canonical.
class Span {
public:
  Span() = default;
  explicit Span(Columns columns);

  /// Adds a column under the next number. Returns whether it was outside the span before.
  bool add(ElementBits column);

  int rank() const { return static_cast<int>(pivots_.size()); }
  bool contains(ElementBits vector) const { return reduce(vector) == 0; }
  /// What is left of `vector` modulo the span: 0 inside, the same for all vectors of one coset.
  ElementBits reduce(ElementBits vector) const;
  /// The columns whose sum is `vector`, or nothing when it is outside the span.
  std::optional<uint32_t> solve(ElementBits vector) const;
  /// The columns that were in the span of earlier ones, as a mask.
  uint32_t dependent() const { return dependent_; }
  /// The vectors over the columns whose sum is 0; one per dependent column, which it alone contains
  /// among the dependent ones.
  Bases kernel() const { return kernel_; } // a copy: it is asked of temporaries in range-for
  /// The reduced echelon basis, ascending: equal for equal spans.
  Bases basis() const;

private:
  struct Pivot {
    ElementBits vector;
    uint32_t columns;
  };
  /// Kept reduced: the top bit of a vector is in no other vector.
  llvm::SmallVector<Pivot, 8> pivots_;
  Bases kernel_;
  uint32_t dependent_ = 0;
  int columnCount_ = 0;
};

/// The product of a matrix and a vector is `combine`; this is the product of two matrices.
Bases multiply(Columns left, Columns right);

/// The columns 1, 2, 4, ..., of the identity.
Bases identity(int width);

int rank(Columns columns);

/// A matrix X with `left` * X = `right`, or nothing when a column of `right` is outside the span.
std::optional<Bases> leftDivide(Columns left, Columns right);

/// The inverse of a square matrix of full rank, or nothing.
std::optional<Bases> inverse(Columns columns);

/// The matrix with rows and columns exchanged; it has `height` columns.
Bases transpose(Columns columns, int height);

/// Those columns that are outside the span of the ones before them, in order.
Bases independentSubset(Columns columns);

/// Vectors that complete `columns` to all of `width` bits; the first fitting ones of `preferred`,
/// then unit vectors from low to high.
Bases complement(Columns columns, int width, Columns preferred = {});

/// A basis of the common subspace of two spans.
Bases intersection(Columns first, Columns second);

} // namespace blockscope::gpu::f2
