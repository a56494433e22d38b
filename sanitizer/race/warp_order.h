// Whether a program may touch, in other lanes and with no barrier between, what an earlier block
// store of its own wrote: the warp model's question within one program, asked cheaply.
//
// A "yes" may be wrong (which store was the last one is not followed), a "no" is not.
#pragma once

#include "sanitizer/race/footprint.h"

#include <vector>

namespace blockscope::sanitizer {

/// Follows one program at a time.
class WarpOrder {
public:
  /// A block load or store; `box.address` is a host address.
  void onAccess(const AccessBox &box, int elementBytes, bool isStore);
  /// At a barrier and at the program's end: looks at what came since the last one, and forgets it.
  bool mayBeBroken();

private:
  struct BlockAccess {
    PlacedRows rows;
    uint64_t end;
    AccessBox box;
    int elementBytes;
    bool isStore;
    uint32_t order;
  };

  static bool clash(const BlockAccess &store, const BlockAccess &later);

  std::vector<BlockAccess> accesses_; ///< from the first store on
};

} // namespace blockscope::sanitizer
