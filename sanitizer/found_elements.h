// The elements of tensors that findings are about: what one occurrence adds, and the bounded set
// that the occurrences of a cause make together.
#pragma once

#include "core/finding.h"

#include "llvm/ADT/SmallVector.h"

#include <map>
#include <string>
#include <vector>

namespace blockscope::sanitizer {

/// Rows of elements of a tensor: `rows` rows, `rowStride` apart, of `count` elements each.
///
/// Units: `first` and `rowStride` count elements from element (0, ..., 0); `first` may be negative.
struct ElementRows {
  int64_t first = 0;
  int64_t count = 0;
  int64_t rows = 1;
  int64_t rowStride = 0;
  bool operator==(const ElementRows &) const = default;
};

/// Elements of one tensor, by number.
struct TensorElements {
  std::string tensor;
  int64_t elementBytes = 1;
  std::vector<ElementRows> rows;
  bool isCut = false; ///< there are more
};

/// A set of element numbers in bounded memory. Of too many it keeps the lowest, so that it does not
/// depend on the order in which they came.
class ElementSet {
public:
  /// Words of 64 neighbours that are kept: half a million neighbours, or 8192 elements far apart.
  static constexpr size_t kMostWords = 8192;

  void add(int64_t first, int64_t count);
  /// Says that there are more.
  void cut() { isCut_ = true; }
  bool isCut() const { return isCut_; }
  std::vector<ElementRows> rows() const;

private:
  std::map<int64_t, uint64_t> words_; ///< bits, by the number of the first element over 64
  bool isCut_ = false;
};

/// What one occurrence is about, in bounded memory. It keeps pointers to the tensors.
class FoundElements {
public:
  static constexpr size_t kMostPieces = size_t{1} << 14;

  /// Adds the elements that the bytes belong to; `offset` is from the tensor's first element.
  void add(const TensorInfo &tensor, int64_t offset, int64_t bytes);
  void add(const FoundElements &other);
  void clear();
  bool isCut() const { return isCut_; }

  struct Piece {
    const TensorInfo *tensor;
    int64_t begin, end; ///< bytes
  };
  const llvm::SmallVectorImpl<Piece> &pieces() const { return pieces_; }

private:
  llvm::SmallVector<Piece, 2> pieces_;
  bool isCut_ = false;
};

/// What the occurrences of a cause are about.
class ElementsOfCause {
public:
  void add(const FoundElements &found);
  std::vector<TensorElements> all() const;

private:
  struct OfTensor {
    int64_t elementBytes = 1;
    ElementSet set;
  };
  std::map<std::string, OfTensor> tensors_;
};

} // namespace blockscope::sanitizer
