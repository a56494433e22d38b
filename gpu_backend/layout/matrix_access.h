// ldmatrix and stmatrix: whole 8 x 8 matrices of 16-bit units between registers and shared memory.
//
// A row of a matrix is 16 consecutive bytes. Without .trans lane l holds the 4 bytes at column
// 4 (l % 4) of row l / 4; with it, units of two rows, (2 (l % 4), l / 4) and (2 (l % 4) + 1, l /
// 4). Lane i gives the address of row i % 8 of matrix i / 8. Source: PTX ISA 9.0, 9.7.14.5.15.
#pragma once

#include "gpu_backend/layout/shared_layout.h"

#include <optional>

namespace blockscope::gpu {

/// One ldmatrix or stmatrix.
struct MatrixInstruction {
  uint32_t offsetBytes;
  /// The layout's registers, those of the instruction's first 32-bit register first, low bits
  /// first.
  llvm::SmallVector<uint32_t, 16> registers;
};

/// How a layout reaches a shared layout by matrices: thread (lane, warp) gives as its row address,
/// for each instruction, the XOR of the instruction's offset and those of the set bits of its lane
/// and warp.
struct MatrixAccess {
  bool transposed = false;
  /// Matrices per instruction: 1, 2 or 4. With fewer than 4 the upper lanes' addresses do not
  /// matter (they repeat).
  int matrices = 4;
  /// Layout registers in a 32-bit register.
  int registersPerWord = 2;
  Bases lanes, warps;
  llvm::SmallVector<MatrixInstruction, 8> instructions;
  /// Warps in which one of these bits is set take no part in a store. Empty for loads.
  InputBits idle;
  /// What a warp needs for all instructions.
  int wavefronts = 0;

  /// As those of `SharedAccess`; a matrix has the bytes of one wavefront.
  int leastWavefronts() const { return matrices * static_cast<int>(instructions.size()); }
  int conflictWays() const {
    const int least = leastWavefronts();
    return wavefronts > least ? wavefronts / least : 1;
  }
  /// As `SharedAccess::threadBits`.
  uint32_t threadBits() const { return flippedBits(lanes) | flippedBits(warps); }
};

/// The plan of ldmatrix for `layout`, or nothing when it does not fit this pair, with or without
/// .trans.
///
/// Shapes: elements of 1, 2 or 4 bytes; .trans moves elements of 2 bytes, or pairs of 1 byte.
std::optional<MatrixAccess> matrixLoad(const LinearLayout &layout, const SharedLayout &shared);

/// As `matrixLoad` for stmatrix; also nothing when lanes hold copies of each other.
std::optional<MatrixAccess> matrixStore(const LinearLayout &layout, const SharedLayout &shared);

} // namespace blockscope::gpu
