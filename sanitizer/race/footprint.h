// The bytes that one access touches, in a form that needs no lanes: an interval, or rows in it.
#pragma once

#include "sanitizer/observation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <compare>
#include <cstdint>

namespace blockscope::sanitizer {

/// Rows of bytes at even distances, along up to four dimensions. Strides fall, and each is at least
/// as long as what the dimensions after it cover.
struct RowPattern {
  struct Dimension {
    uint64_t size, strideBytes;
    auto operator<=>(const Dimension &) const = default;
  };
  uint64_t rowBytes = 0;
  int rank = 0; ///< 0: one row
  std::array<Dimension, kBoxRank> dimensions = {};

  auto operator<=>(const RowPattern &) const = default;

  uint64_t rows() const;
  /// Units: bytes from the first byte to one past the last.
  uint64_t extent() const;
  /// Calls `visit` with the offset of every row, in rising order.
  void forEachRow(llvm::function_ref<void(uint64_t offset)> visit) const;
  /// Whether a row has a byte in [begin, end), offsets from the first byte.
  bool touches(int64_t begin, int64_t end) const;
};

/// A pattern, and where its first byte is.
struct PlacedRows {
  uint64_t begin = 0;
  RowPattern pattern;
};

/// Calls `visit` for boxes that have all active lanes of an access, in their order.
void forEachBox(const Access &access, const MemoryMap &memory,
                llvm::function_ref<void(const AccessBox &, const Allocation &)> visit);
/// Returns the bytes of a box; dimensions that run on in memory become one.
PlacedRows rowsOf(const AccessBox &box, int elementBytes);

} // namespace blockscope::sanitizer
