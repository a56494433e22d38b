// In which order the products of a dot by mma.sync are made.
#pragma once

#include <cstdint>

namespace blockscope::gpu {

/// One operand of a dot by mma.sync. A fragment is what one instruction takes of it.
struct FragmentCost {
  int64_t words = 0; ///< registers of a fragment, as it is multiplied
  /// Instructions that load all fragments, and make them what is multiplied; 0: they are in
  /// registers.
  int64_t making = 0;
};

/// The products that a thread takes part in. A tile is what one instruction adds to.
struct MmaProducts {
  int64_t rows = 1, columns = 1; ///< tiles
  int64_t steps = 1;             ///< instructions for each tile
  int64_t batches = 1;
  int64_t sumWords = 4; ///< registers of a tile's sums
  FragmentCost a, b;
  int64_t otherWords = 0; ///< what else a thread holds meanwhile
  int64_t registers = 255;
};

/// Groups of tiles, one finished before the next one begins; in a group, all tiles have a step
/// along K before the next step. Whatever the order, each sum adds up the same products in the same
/// order.
struct MmaOrder {
  int64_t rows, columns; ///< of a group
  bool holdsA;           ///< in a step, fragments of B pass by those of A that the group has

  friend bool operator==(const MmaOrder &, const MmaOrder &) = default;
};

/// The order of the fewest instructions: all tiles at once if registers suffice, so that no
/// fragment is made twice.
MmaOrder mmaOrderOf(const MmaProducts &products);

} // namespace blockscope::gpu
