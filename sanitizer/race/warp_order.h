// Whether a program may touch, in other lanes and with no barrier between, what an earlier store or
// atomic of its own wrote, or overwrite what an earlier load reads: the warp model's question
// within one program, asked cheaply.
//
// A "yes" may be wrong (which store was the last one is not followed), a "no" is not.
#pragma once

#include "sanitizer/race/footprint.h"

#include <vector>

namespace blockscope::sanitizer {

/// Follows one program at a time.
class WarpOrder {
public:
  /// Whether loads count that come before a store. Where threads exchange what they loaded, the
  /// compiler's barriers mostly stand between the two, and nobody here knows where.
  static bool readsCountIn(const LaunchInfo &launch);

  struct Kind {
    bool writes = false, isAtomic = false;
    bool isBlock = true; ///< more than one lane
  };
  /// An access; `box.address` is a host address.
  void onAccess(const AccessBox &box, int elementBytes, Kind kind);
  void countReads(bool count) { readsCount_ = count; }
  /// At a barrier and at the program's end: looks at what came since the last one, and forgets it.
  bool mayBeBroken();

private:
  struct Seen {
    AccessBox box;
    int elementBytes;
    Kind kind;
  };
  struct Known : Seen {
    PlacedRows rows;
    uint64_t end;
    uint32_t order; ///< of the accesses
  };

  /// Memory that atomics have touched, and perhaps some between. They exclude each other, and may
  /// be as many as lanes, so only other accesses in there are of interest.
  struct AtomicRange {
    uint64_t begin, end;
    bool isBlock;
  };

  bool clash(const Known &earlier, const Known &later) const;
  void addAtomic(AtomicRange added);
  bool touchesAtomics(const Known &known) const;

  bool readsCount_ = false;
  std::vector<Known> sorted_;  ///< memory of mayBeBroken
  std::vector<Seen> accesses_; ///< from the first write on, where reads do not count
  std::vector<AtomicRange> atomics_;
};

} // namespace blockscope::sanitizer
