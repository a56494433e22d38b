// Live ranges of virtual registers, and which registers may share their memory as one.
#pragma once

#include "interpreter/flat/lowered.h"

namespace blockscope::interpreter::flat {

/// Closed interval of half positions: op number i reads at 2 i and writes at 2 i + 1. An operand
/// that a result must not overwrite is live until 2 i + 1.
struct Segment {
  uint32_t begin;
  uint32_t end;
};

/// Sorted by begin; may touch.
using LiveRange = llvm::SmallVector<Segment, 2>;

/// Returns the live range of every register; those of constants and arguments are empty. `inPlace`:
/// a result may take the place of an operand that ends with its op.
std::vector<LiveRange> computeLiveRanges(const Lowered &lowered, bool inPlace);

/// Returns a class number per value. Values copied into one another get one class where they never
/// live at once, so that the copy goes away. `ranges` are joined into those of the classes, which
/// are numbered like one of their values.
std::vector<uint32_t> coalesceCopies(const Lowered &lowered, std::vector<LiveRange> &ranges,
                                     bool enabled);

bool overlap(const LiveRange &a, const LiveRange &b);

} // namespace blockscope::interpreter::flat
