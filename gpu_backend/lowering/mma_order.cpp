// Sums that have no register wait on the stack. With all tiles at once each step along K would load
// and store them; a group loads and stores them once, and makes fragments anew that another group
// has had.
#include "gpu_backend/lowering/mma_order.h"

#include <algorithm>

namespace blockscope::gpu {
namespace {

/// Registers of a step: the fragments that stay, and one that passes by.
int64_t fragmentWords(const MmaProducts &products, const MmaOrder &order) {
  return order.holdsA ? order.rows * products.a.words + products.b.words
                      : order.columns * products.b.words + products.a.words;
}

/// Registers of what each product needs beside fragments and sums: addresses, above all.
constexpr int64_t kReserve = 16;

/// Instructions beside the products and what makes each fragment once. What is not needed for the
/// products is spilled first, and loaded and stored once.
int64_t costOf(const MmaProducts &products, const MmaOrder &order) {
  const auto beyond = [&](int64_t words) {
    return std::max<int64_t>(0, words - products.registers);
  };
  const int64_t ofGroup = order.rows * order.columns * products.sumWords;
  const int64_t sums = products.batches * products.rows * products.columns * products.sumWords;
  const int64_t held = fragmentWords(products, order) + kReserve;
  const int64_t again = (products.columns / order.columns - 1) * products.a.making +
                        (products.rows / order.rows - 1) * products.b.making;
  const int64_t spilled =
      beyond(sums + held + products.otherWords) + (products.steps - 1) * beyond(ofGroup + held);
  return 2 * spilled + again; // a load and a store each
}

} // namespace

MmaOrder mmaOrderOf(const MmaProducts &products) {
  MmaOrder best{products.rows, products.columns, /*holdsA=*/false};
  int64_t least = costOf(products, best);
  for (int64_t rows = products.rows; rows >= 1; rows /= 2)
    for (int64_t columns = products.columns; columns >= 1; columns /= 2)
      for (const bool holdsA : {false, true}) {
        const MmaOrder order{rows, columns, holdsA};
        if (const int64_t cost = costOf(products, order); cost < least) {
          least = cost;
          best = order;
        }
      }
  return best;
}

} // namespace blockscope::gpu
