// The cheapest way to give each of some nodes one of two labels.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace blockscope::gpu {

/// A graph whose nodes are labelled first or second. A node may be bound to a label, and an arc
/// costs what it says where its tail is first and its head second.
class MinCut {
public:
  static constexpr int64_t kBound = INT64_MAX / 4; ///< a cost that no labelling takes

  unsigned add();
  void bindFirst(unsigned node) { arc(kFirst, node, kBound); }
  void bindSecond(unsigned node) { arc(node, kSecond, kBound); }
  /// What a node costs with either label.
  void price(unsigned node, int64_t asFirst, int64_t asSecond) {
    arc(node, kSecond, asFirst);
    arc(kFirst, node, asSecond);
  }
  void arc(unsigned tail, unsigned head, int64_t cost);

  /// Finds labels of least cost, and among those the ones with the fewest first nodes; returns the
  /// cost. The time is that of one search through the graph for each path that fills up.
  int64_t solve();
  bool isFirst(unsigned node) const { return isFirst_[node]; }

private:
  static constexpr unsigned kFirst = 0, kSecond = 1;

  struct Arc {
    unsigned head;
    int64_t
        room; ///< what may still flow; the arc back is that with the last bit of the index flipped
  };

  bool findPath(llvm::SmallVectorImpl<unsigned> &arcInto) const;

  llvm::SmallVector<Arc> arcs_;
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>> arcsOf_{{}, {}};
  llvm::SmallVector<bool> isFirst_;
};

} // namespace blockscope::gpu
