// Deals out the bits of a shape to registers, lanes and warps.
#include "gpu_backend/layout/blocked_layout.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

namespace blockscope::gpu {
namespace {

/// Gives the bits of each dimension to inputs, from low to high.
class Dealer {
public:
  explicit Dealer(llvm::ArrayRef<int64_t> shape) : shape_(shape), next_(shape.size(), 0) {}

  /// Appends log2(`count`) bits of `dim`; where the shape has no more, copies or nothing.
  void deal(Bases &bases, int dim, int64_t count, bool copies) {
    for (unsigned bit = 0; bit < llvm::Log2_64(count); ++bit) {
      if (next_[dim] < shape_.width(dim))
        bases.push_back(ElementBits{1} << (shape_.shift(dim) + next_[dim]++));
      else if (copies)
        bases.push_back(0);
    }
  }
  void dealRest(Bases &bases, int dim) {
    deal(bases, dim, int64_t{1} << (shape_.width(dim) - next_[dim]), false);
  }

private:
  ShapeBits shape_;
  llvm::SmallVector<int, 4> next_;
};

} // namespace

LinearLayout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizePerThread,
                     llvm::ArrayRef<int64_t> lanesPerDim, llvm::ArrayRef<int64_t> warpsPerDim,
                     llvm::ArrayRef<int> order) {
  assert(sizePerThread.size() == shape.size() && lanesPerDim.size() == shape.size() &&
         warpsPerDim.size() == shape.size() && order.size() == shape.size());
  Dealer dealer(shape);
  LinearLayout layout;
  for (const int dim : order)
    dealer.deal(layout.registers, dim, sizePerThread[dim], /*copies=*/false);
  for (const int dim : order)
    dealer.deal(layout.lanes, dim, lanesPerDim[dim], /*copies=*/true);
  for (const int dim : order)
    dealer.deal(layout.warps, dim, warpsPerDim[dim], /*copies=*/true);
  for (const int dim : order)
    dealer.dealRest(layout.registers, dim);
  return layout;
}

LinearLayout blockedForAccess(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int> order,
                              int64_t vector, int64_t warpCount, int64_t rows, int64_t least) {
  const size_t rank = shape.size();
  constexpr int64_t kLanes = 32;
  if (rank == 0)
    return {{}, Bases(llvm::Log2_64(kLanes), 0), Bases(llvm::Log2_64(warpCount), 0)};
  int64_t elements = 1;
  for (const int64_t size : shape)
    elements *= size;

  llvm::SmallVector<int64_t, 4> perThread(rank, 1), lanes(rank, 1), warps(rank, 1);
  const int64_t share = std::max<int64_t>(elements / (kLanes * warpCount), least);
  perThread[order[0]] = std::min({vector, shape[order[0]], share});
  llvm::SmallVector<int, 4> warpOrder(order);
  if (rank > 1 && rows > 1) {
    perThread[order[1]] = std::min({rows, shape[order[1]], share / perThread[order[0]]});
    std::swap(warpOrder[0], warpOrder[1]);
  }

  // What a level leaves over goes to the next; what no dimension takes makes copies along the last.
  const auto fill = [&](llvm::SmallVectorImpl<int64_t> &counts, int64_t total,
                        llvm::ArrayRef<int64_t> taken, llvm::ArrayRef<int> dims) {
    for (const int dim : dims) {
      counts[dim] = std::min(total, std::max<int64_t>(shape[dim] / taken[dim], 1));
      total /= counts[dim];
    }
    counts[order.back()] *= total;
  };
  fill(lanes, kLanes, perThread, order);
  llvm::SmallVector<int64_t, 4> taken(rank);
  for (size_t dim = 0; dim < rank; ++dim)
    taken[dim] = perThread[dim] * lanes[dim];
  fill(warps, warpCount, taken, warpOrder);
  return blocked(shape, perThread, lanes, warps, order);
}

} // namespace blockscope::gpu
