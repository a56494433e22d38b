// Blocks in shared memory: a linear map from element bits to byte offsets, swizzles included, and
// how the threads of a layout reach their elements in it.
//
// Bank conflicts are counted for 32 banks of 4 bytes. A warp's access of 4 bytes per lane or fewer
// is one phase, 8 bytes are two phases of 16 lanes, 16 bytes four of 8 lanes; a phase takes as many
// wavefronts as the fullest bank has different words. Since all maps are linear, every phase of
// every register is alike.
#pragma once

#include "gpu_backend/layout/layout_queries.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace blockscope::gpu {

/// Where the elements of a block lie in shared memory.
struct SharedLayout {
  /// For each bit of an element's number the bits of the byte offset that it flips; 0 where
  /// elements that differ in it are equal. Without these bits, invertible onto the multiples of
  /// `elementBytes` below `sizeBytes()`.
  Bases offsets;
  int elementBytes = 4;

  bool operator==(const SharedLayout &other) const = default;
  uint32_t offsetBytes(ElementBits element) const { return combine(offsets, element); }
  uint32_t sizeBytes() const {
    return static_cast<uint32_t>(elementBytes)
           << (offsets.size() - static_cast<size_t>(llvm::count(offsets, ElementBits{0})));
  }
  /// What it begins at a multiple of: that of TMA, or as much as a swizzle of its size may want.
  uint32_t alignmentBytes() const { return std::clamp(sizeBytes(), 128U, 1024U); }
};

/// How many bytes of elements that follow each other along `dim` lie one behind the other in shared
/// memory, from each multiple of the number on; at most `mostBytes`.
int contiguousBytes(const SharedLayout &layout, const ShapeBits &shape, int dim, int mostBytes);

/// The block in row-major order without a swizzle.
SharedLayout plainShared(int width, int elementBytes);

/// An operand of wgmma, a box of TMA or a tile for ldmatrix: chunks of `swizzleBytes` along the
/// contiguous dimension, each chunk a column of rows of `swizzleBytes`, chunk after chunk; byte
/// offset a is stored at `a ^ (((a >> 7) & (swizzleBytes / 16 - 1)) << 4)`. Dimensions before the
/// last two (stages) follow outermost.
///
/// Shapes: at least two dimensions; `contiguousDim` is one of the last two and at least
///         `swizzleBytes` long, the other has at least 8 rows.
/// Units:  `swizzleBytes` is 128, 64 or 32. The block starts at a multiple of `8 * swizzleBytes`.
SharedLayout swizzledShared(llvm::ArrayRef<int64_t> shape, int contiguousDim, int elementBytes,
                            int swizzleBytes);

/// The layout with its chunks of 16 bytes moved by the bits of a row's number in the other order:
/// neighbouring rows are far apart in the banks. Lanes that read 32 or 64 bytes of each of some
/// rows in wide vectors then meet no conflicts; to those that read one chunk of eight rows it is
/// all the same. wgmma and TMA do not know it.
SharedLayout withReversedSwizzle(SharedLayout layout);

/// All bits that some basis flips.
inline ElementBits flippedBits(llvm::ArrayRef<ElementBits> bases) {
  ElementBits bits = 0;
  for (const ElementBits basis : bases)
    bits |= basis;
  return bits;
}

/// The registers of one vector access, in the order of memory.
struct SharedVector {
  uint32_t offsetBytes;
  llvm::SmallVector<uint32_t, 8> registers;
};

/// How the threads of a layout store to or load from a shared layout: thread (lane, warp) accesses,
/// for each vector, `vectorBytes` bytes at the XOR of the vector's offset and those of the set bits
/// of its lane and warp.
struct SharedAccess {
  int vectorBytes = 4;
  Bases lanes, warps;
  /// Each element of a thread once: registers with free bits are in no vector.
  llvm::SmallVector<SharedVector, 8> vectors;
  /// Threads in which one of these bits is set take no part in a store. Empty for loads.
  InputBits idle;
  /// What a warp needs for all vectors when no round splits them.
  int wavefronts = 0;

  /// The wavefronts that the same bytes need without bank conflicts.
  int leastWavefronts() const {
    const int phases = vectorBytes > 4 ? vectorBytes / 4 : 1;
    return phases * static_cast<int>(vectors.size());
  }
  /// How many times as many there are.
  int conflictWays() const {
    const int least = leastWavefronts();
    return wavefronts > least ? wavefronts / least : 1;
  }

  uint32_t threadOffsetBytes(uint32_t lane, uint32_t warp) const {
    return combine(lanes, lane) ^ combine(warps, warp);
  }
  /// The bits that threads flip: only these of a vector's offset need an XOR, the others can be
  /// added, as an immediate offset.
  uint32_t threadBits() const { return flippedBits(lanes) | flippedBits(warps); }
};

/// The widest aligned vectors with which `layout` accesses `shared`. A store leaves out the threads
/// that hold copies, so that every element is written once.
///
/// Units: vectors have at most `maxVectorBytes` bytes, at most 16, and at least one element.
SharedAccess vectorStore(const LinearLayout &layout, const SharedLayout &shared,
                         int maxVectorBytes = 16);
SharedAccess vectorLoad(const LinearLayout &layout, const SharedLayout &shared,
                        int maxVectorBytes = 16);

/// The wavefronts of one access of `vectorBytes` per lane, where lane bit i flips the byte offset
/// `lanes[i]`; lanes with a bit of `idleLanes` do not take part.
int accessWavefronts(llvm::ArrayRef<ElementBits> lanes, int vectorBytes, uint32_t idleLanes = 0);

/// How many wavefronts the offsets generated by `offsets` need together, each with the word of 4
/// bytes at it.
int phaseWavefronts(llvm::ArrayRef<ElementBits> offsets);

/// The layout's bases as byte offsets in `shared` instead of elements.
LinearLayout inShared(const LinearLayout &layout, const SharedLayout &shared);

} // namespace blockscope::gpu
