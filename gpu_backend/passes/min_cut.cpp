// The least cut between two nodes is the largest flow (Ford and Fulkerson), found path by path, the
// shortest first.
#include "gpu_backend/passes/min_cut.h"

#include <algorithm>

namespace blockscope::gpu {

unsigned MinCut::add() {
  arcsOf_.emplace_back();
  return static_cast<unsigned>(arcsOf_.size() - 1);
}

void MinCut::arc(unsigned tail, unsigned head, int64_t cost) {
  arcsOf_[tail].push_back(static_cast<unsigned>(arcs_.size()));
  arcs_.push_back({head, cost});
  arcsOf_[head].push_back(static_cast<unsigned>(arcs_.size()));
  arcs_.push_back({tail, 0});
}

/// Whether something may flow to the second label. `arcInto` gets the arc by which each node is
/// reached, or the number of arcs.
bool MinCut::findPath(llvm::SmallVectorImpl<unsigned> &arcInto) const {
  const auto none = static_cast<unsigned>(arcs_.size());
  arcInto.assign(arcsOf_.size(), none);
  llvm::SmallVector<unsigned> open{kFirst};
  for (size_t next = 0; next < open.size(); ++next)
    for (const unsigned arc : arcsOf_[open[next]]) {
      const auto [head, room] = arcs_[arc];
      if (room == 0 || head == kFirst || arcInto[head] != none)
        continue;
      arcInto[head] = arc;
      open.push_back(head);
    }
  return arcInto[kSecond] != none;
}

int64_t MinCut::solve() {
  int64_t cost = 0;
  llvm::SmallVector<unsigned> arcInto;
  while (findPath(arcInto)) {
    int64_t flow = kBound;
    for (unsigned node = kSecond; node != kFirst; node = arcs_[arcInto[node] ^ 1].head)
      flow = std::min(flow, arcs_[arcInto[node]].room);
    for (unsigned node = kSecond; node != kFirst; node = arcs_[arcInto[node] ^ 1].head) {
      arcs_[arcInto[node]].room -= flow;
      arcs_[arcInto[node] ^ 1].room += flow;
    }
    cost += flow;
  }
  isFirst_.assign(arcsOf_.size(), false);
  for (size_t node = 0; node < arcsOf_.size(); ++node)
    isFirst_[node] = node == kFirst || arcInto[node] != arcs_.size();
  return cost;
}

} // namespace blockscope::gpu
