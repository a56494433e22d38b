// Tiles: blocks whose elements are affine in their index, kept as a base and strides.
//
// Offsets and pointers of most kernels are sums of ranges times scalars. As tiles they cost a few
// integer operations a block, and a load knows its rows without looking at addresses. Where 32-bit
// arithmetic wraps inside a block, a value is affine no longer: its elements are then written out
// (`inBlock`), so the result is right whatever the numbers are.
#pragma once

#include "interpreter/evaluator.h"

#include <cstring>

namespace blockscope::interpreter::flat {

constexpr int kTileRank = 4;

/// The shape of a tile, and how wide its elements are. Static; in payloads.
struct TileShape {
  int rank = 0;
  int64_t sizes[kTileRank] = {1, 1, 1, 1};
  int64_t lanes = 1;
  bool isNarrow = false; ///< i32: elements are the low 32 bits, sign-extended

  explicit TileShape(const Type &type);
  TileShape() = default;
};

/// An integer or pointer block. In memory the elements (int64_t each, narrow ones sign-extended)
/// follow at kTileHeader; they are written only when `inBlock` is set.
struct Tile {
  int64_t base = 0;
  int64_t strides[kTileRank] = {};
  bool inBlock = false;
  /// Narrow: 64 bits were not enough for the exact base and strides; the low 32 bits are right.
  bool isLost = false;

  int64_t *block() { return reinterpret_cast<int64_t *>(this) + 8; }
  const int64_t *block() const { return reinterpret_cast<const int64_t *>(this) + 8; }
};
constexpr int64_t kTileHeader = 64;
static_assert(sizeof(Tile) <= kTileHeader);

/// A block of i1 that is true in a box [lo, hi) of indices. When it is not a box, its bytes follow
/// at kMaskHeader.
struct MaskTile {
  int64_t lo[kTileRank] = {};
  int64_t hi[kTileRank] = {};
  bool inBlock = false;

  uint8_t *block() { return reinterpret_cast<uint8_t *>(this) + 128; }
  const uint8_t *block() const { return reinterpret_cast<const uint8_t *>(this) + 128; }
};
constexpr int64_t kMaskHeader = 128;
static_assert(sizeof(MaskTile) <= kMaskHeader);

/// Units: 8-byte words of the register of a tile of this type.
int64_t tileWords(const Type &type);

/// Bounds of the exact elements of an affine tile; false when 64 bits are not enough.
bool tileBounds(const Tile &tile, const TileShape &shape, int64_t &least, int64_t &most);
/// Writes elements [begin, begin + n) of the tile, each `elementBytes` wide.
void writeTile(const Tile &tile, const TileShape &shape, int64_t begin, int64_t n, int elementBytes,
               void *out);
void writeMask(const MaskTile &mask, const TileShape &shape, int64_t begin, int64_t n,
               uint8_t *out);

/// The evaluator of a tile op: arith.addi, arith.subi, arith.muli, arith.extsi, arith.extui,
/// tl.addptr, tl.expand_dims, tl.broadcast, tl.trans, and arith.cmpi and arith.andi that make
/// masks. `tileOperands` has a bit set for each operand that is a tile; the others are scalars.
Evaluator makeTileOp(const OpSignature &signature, uint32_t tileOperands);
/// Writes a tile or mask of this type out as a block; an elementwise member that reads its operand
/// whole.
Evaluator makeTileToBlock(const Type &type);

/// tl.load and tl.store through a tile of pointers; `general` is their evaluator over blocks.
/// Operands: the tile, [the value], [mask tile], [other]; the value may be one element for all
/// lanes (`valueIsScalar`), other always is.
Evaluator makeTileLoad(const OpSignature &signature, Evaluator general);
Evaluator makeTileStore(const OpSignature &signature, bool valueIsScalar, Evaluator general);

} // namespace blockscope::interpreter::flat
