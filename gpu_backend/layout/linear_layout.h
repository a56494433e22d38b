// Where the elements of a block live: a linear map over F2 from (register, lane, warp) bits to the
// bits of the element's number in row-major order.
//
// Block shapes are powers of two, so element numbers are bit strings: the bits of the last
// dimension come first (low), then those of the one before. A layout names, for each input bit, the
// element bits that it flips (its basis); the element of an input is the XOR of the bases of its
// set bits. A basis of 0 says that the bit makes a copy. Reshape and expand_dims keep the bases, a
// transposition permutes their bits. After "Linear Layouts", arXiv 2505.23819.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace blockscope::gpu {

/// Bits of an element's number; XOR of two numbers is the sum over F2.
using ElementBits = uint32_t;
using Bases = llvm::SmallVector<ElementBits, 8>;

/// The row-major bits of a power-of-two shape.
class ShapeBits {
public:
  ShapeBits() = default;
  explicit ShapeBits(llvm::ArrayRef<int64_t> shape);

  int rank() const { return static_cast<int>(widths_.size()); }
  /// Number of bits of dimension `dim`, and of all dimensions together.
  int width(int dim) const { return widths_[dim]; }
  int width() const { return total_; }
  /// The lowest bit of dimension `dim` in an element's number, and all its bits.
  int shift(int dim) const { return shifts_[dim]; }
  ElementBits mask(int dim) const { return ((ElementBits{1} << widths_[dim]) - 1) << shifts_[dim]; }
  /// The coordinate along `dim` of element `element`.
  uint32_t coordinate(ElementBits element, int dim) const {
    return (element & mask(dim)) >> shifts_[dim];
  }

private:
  llvm::SmallVector<int, 4> widths_, shifts_;
  int total_ = 0;
};

/// A distributed block: which element each register of each lane of each warp holds.
struct LinearLayout {
  Bases registers, lanes, warps;

  bool operator==(const LinearLayout &other) const = default;

  int registerCount() const { return 1 << registers.size(); }
  int laneCount() const { return 1 << lanes.size(); }
  int warpCount() const { return 1 << warps.size(); }
  /// The element that register `reg` holds in lane 0 of warp 0; XOR with laneElement and
  /// warpElement.
  ElementBits registerElement(uint32_t reg) const;
  ElementBits laneElement(uint32_t lane) const;
  ElementBits warpElement(uint32_t warp) const;
  ElementBits element(uint32_t reg, uint32_t lane, uint32_t warp) const {
    return registerElement(reg) ^ laneElement(lane) ^ warpElement(warp);
  }
  /// "registers [1, 2] lanes [4, 8] warps [16]".
  std::string text() const;
};

/// The XOR of the bases whose bit is set in `index`.
ElementBits combine(llvm::ArrayRef<ElementBits> bases, uint32_t index);

} // namespace blockscope::gpu
