// Which dimension of a tensor each term of an address moves along.
//
// A term belongs to the dimension that has its stride. Dimensions that the kernel does not name are
// one with the next finer one that it names, where they run on in memory: rows of a [batch, rows,
// columns] tensor may be counted through all batches, and the columns of a row kernel may be all
// elements of a matrix. A term whose stride no dimension has (a head within a row) counts in steps
// of the next finer named dimension that divides it. Where that leaves a choice, nothing is said.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace blockscope::sanitizer {

/// The dimensions of one tensor that have a size above 1, by falling stride. Units: bytes.
struct Dimensions {
  struct Dimension {
    int64_t size, stride;
    size_t number; ///< in the tensor's shape
  };
  llvm::SmallVector<Dimension, 5> dimensions;

  /// Nothing where elements of the tensor lie on top of one another, or strides are negative.
  static std::optional<Dimensions> of(const TensorInfo &tensor);
};

/// One index that can be held against the size of its dimension (or of several that are one).
struct NamedIndex {
  struct Part {
    size_t term;    ///< of the form
    uint32_t start; ///< the step that counts where all lane places are 0
    int64_t factor; ///< the term counts so many steps of this dimension
  };
  llvm::SmallVector<Part, 2> parts;
  size_t first = 0, last = 0; ///< dimensions of the tensor
  int64_t size = 0;
  int64_t stride = 0; ///< in bytes
  /// Of its steps, those that only the size of a fixed number says are of this dimension: the
  /// number may as well belong to a finer one, as in `row * n + (n - 1 - i) + lane`.
  int64_t added = 0;
  /// All lanes have the same index, and it is a multiple of this in each program: the rows of one
  /// program may be so many. 1 where lanes differ.
  int64_t multiple = 1;
  /// False: it is the same in the whole launch, and only what it carries over counts.
  bool isChecked = true;
};

/// Returns the indices that `form` names, where all of its terms are clear. `values` are of its
/// steps, at any place: strides are the same at all. By falling stride. Empty where it names no
/// dimension but the finest, or none can be checked.
llvm::SmallVector<NamedIndex, 4> namedIndices(const AddressForm &form, const Dimensions &dimensions,
                                              llvm::ArrayRef<int64_t> values);

} // namespace blockscope::sanitizer
