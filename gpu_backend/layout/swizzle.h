// The shared layouts through which two layouts can exchange a block with few bank conflicts.
#pragma once

#include "gpu_backend/layout/shared_layout.h"

#include <optional>

namespace blockscope::gpu {

/// What a shared layout is made for.
struct SwizzleGoal {
  /// Vectors: one side has vectors of `vectorBytes`, the other what both have in common.
  /// Matrices, TransposedMatrices: one side uses ldmatrix or stmatrix, without or with .trans.
  enum class Access { Vectors, Matrices, TransposedMatrices };
  Access access = Access::Vectors;
  /// Whether that side is the load, or else the store.
  bool forLoad = true;
  /// Units: bytes; at least an element, at most 16.
  int vectorBytes = 16;
  /// How many of the bits that count rounds are to be registers of both sides, so that a round
  /// moves the same registers of all threads: vectors have no such register. For Access::Vectors.
  int roundBits = 0;
};

/// A shared layout for stores of `source` and loads of `destination`: without bank conflicts for
/// vectors of 4 bytes, and mostly for wider ones and matrices. So try several goals and compare
/// what `vectorStore`, `vectorLoad` and the matrix accesses say. Nothing when matrices cannot fit.
///
/// Shapes: `width` element bits, of which both layouts hold all.
/// Source: two subspaces of equal dimension have a common complement; its vectors go to different
///         rows of 128 bytes. After section 5 of "Linear Layouts", arXiv 2505.23819.
std::optional<SharedLayout> swizzleBetween(const LinearLayout &source,
                                           const LinearLayout &destination, int width,
                                           int elementBytes, const SwizzleGoal &goal);

} // namespace blockscope::gpu
