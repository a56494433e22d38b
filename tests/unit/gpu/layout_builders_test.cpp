// Blocked layouts by their definition, layouts across shape changes, owners and runs.
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "tests/unit/gpu/layout_random.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <numeric>
#include <set>

namespace blockscope::gpu {
namespace {

using Sizes = llvm::SmallVector<int64_t, 4>;

Sizes randomSizes(Random &random, int rank, int maxBits) {
  Sizes sizes;
  for (int dim = 0; dim < rank; ++dim)
    sizes.push_back(int64_t{1} << uniform(random, 0, maxBits));
  return sizes;
}

/// `total` dealt out over `rank` dimensions.
Sizes randomFactors(Random &random, int rank, int64_t total) {
  Sizes sizes(rank, 1);
  for (; total > 1; total /= 2)
    sizes[uniform(random, 0, rank - 1)] *= 2;
  return sizes;
}

llvm::SmallVector<int, 4> randomOrder(Random &random, int rank) {
  llvm::SmallVector<int, 4> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// The digits of `index` in mixed radix `sizes`, `order[0]` fastest.
Sizes unflatten(int64_t index, const Sizes &sizes, llvm::ArrayRef<int> order) {
  Sizes digits(sizes.size());
  for (const int dim : order) {
    digits[dim] = index % sizes[dim];
    index /= sizes[dim];
  }
  return digits;
}

int64_t flatten(const Sizes &digits, const Sizes &shape) {
  int64_t element = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    element = element * shape[dim] + digits[dim];
  return element;
}

TEST(LayoutBuildersTest, BlockedFollowsItsDefinition) {
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const int rank = uniform(random, 1, 4);
    const Sizes shape = randomSizes(random, rank, rank > 2 ? 3 : 5);
    const Sizes perThread = randomSizes(random, rank, 2);
    const Sizes lanes = randomFactors(random, rank, 32);
    const Sizes warps = randomFactors(random, rank, int64_t{1} << uniform(random, 0, 3));
    const llvm::SmallVector<int, 4> order = randomOrder(random, rank);
    const LinearLayout layout = blocked(shape, perThread, lanes, warps, order);
    ASSERT_TRUE(isSurjective(layout, ShapeBits(shape).width()));
    ASSERT_EQ(freeBits(layout).registers, 0u);

    Sizes registerBox, repeats; // what of the shape a thread holds at once, and how often
    for (int dim = 0; dim < rank; ++dim) {
      registerBox.push_back(std::min(perThread[dim], shape[dim]));
      repeats.push_back(
          std::max<int64_t>(shape[dim] / (perThread[dim] * lanes[dim] * warps[dim]), 1));
    }
    const int64_t boxCount =
        std::accumulate(registerBox.begin(), registerBox.end(), int64_t{1}, std::multiplies<>());
    for (int warp = 0; warp < layout.warpCount(); ++warp) {
      const int lane = uniform(random, 0, 31);
      const Sizes warpAt = unflatten(warp, warps, order), laneAt = unflatten(lane, lanes, order);
      for (int reg = 0; reg < layout.registerCount(); ++reg) {
        const Sizes in = unflatten(reg % boxCount, registerBox, order);
        const Sizes repeat = unflatten(reg / boxCount, repeats, order);
        Sizes at;
        for (int dim = 0; dim < rank; ++dim)
          at.push_back((in[dim] +
                        perThread[dim] *
                            (laneAt[dim] + lanes[dim] * (warpAt[dim] + warps[dim] * repeat[dim]))) %
                       shape[dim]);
        ASSERT_EQ(layout.element(reg, lane, warp), flatten(at, shape)) << layout.text();
      }
    }
  }
}

TEST(LayoutBuildersTest, BlockedForAccessUsesEveryThreadItCan) {
  for (int elements = 1; elements <= 4096; elements *= 2) {
    const LinearLayout line = blockedForAccess({elements}, {0}, 4, 4);
    EXPECT_TRUE(isSurjective(line, ShapeBits({elements}).width()));
    EXPECT_EQ(line.registerCount(), std::max(elements / 128, 1));
    const int run = contiguity(line, ShapeBits({elements}), 0).length;
    EXPECT_EQ(run, std::min(4, std::max(elements / 128, 1)));
  }
  const LinearLayout tile = blockedForAccess({64, 64}, {1, 0}, 8, 4);
  EXPECT_EQ(tile, blocked({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0}));
  EXPECT_EQ(blockedForAccess({}, {}, 4, 2).text(), "registers [] lanes [0, 0, 0, 0, 0] warps [0]");
}

TEST(LayoutBuildersTest, BlockedForAccessGivesAThreadNeighbouringRows) {
  // Lanes along a row, eight rows a thread, warps further down; what a row has left comes last.
  EXPECT_EQ(blockedForAccess({64, 64}, {1, 0}, 1, 4, 8),
            blocked({64, 64}, {8, 1}, {1, 32}, {4, 1}, {1, 0}));
  EXPECT_EQ(blockedForAccess({64, 64}, {0, 1}, 2, 4, 8),
            blocked({64, 64}, {2, 8}, {32, 1}, {1, 4}, {0, 1}));
  // Work for all threads comes first.
  EXPECT_EQ(blockedForAccess({16, 32}, {1, 0}, 1, 4, 8),
            blocked({16, 32}, {4, 1}, {1, 32}, {4, 1}, {1, 0}));
  EXPECT_EQ(blockedForAccess({64}, {0}, 1, 1, 8), blockedForAccess({64}, {0}, 1, 1));
}

TEST(LayoutBuildersTest, OwnersHoldEveryElementOnce) {
  Random random(6);
  for (int trial = 0; trial < 2000; ++trial) {
    const int width = uniform(random, 0, 9);
    const LinearLayout layout = randomLayout(random, width, uniform(random, 0, 3));
    ASSERT_TRUE(isSurjective(layout, width));
    const InputBits free = freeBits(layout);
    std::map<ElementBits, int> owners;
    for (int warp = 0; warp < layout.warpCount(); ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < layout.registerCount(); ++reg)
          if (isOwner(free, reg, lane, warp))
            ++owners[layout.element(reg, lane, warp)];
    ASSERT_EQ(owners.size(), 1u << width);
    for (const auto &[element, count] : owners)
      ASSERT_EQ(count, 1) << layout.text();
  }
}

TEST(LayoutBuildersTest, RunsAreAlignedAndLongest) {
  Random random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    const int rank = uniform(random, 1, 3);
    const Sizes sizes = randomSizes(random, rank, 3);
    const ShapeBits shape(sizes);
    const LinearLayout layout = randomLayout(random, shape.width(), uniform(random, 0, 2));
    const int dim = uniform(random, 0, rank - 1);
    const RegisterRuns runs = contiguity(layout, shape, dim);
    ASSERT_EQ(runs.order.size(), static_cast<size_t>(layout.registerCount()));
    ASSERT_EQ(std::set<uint32_t>(runs.order.begin(), runs.order.end()).size(), runs.order.size());
    const ElementBits step = ElementBits{1} << shape.shift(dim);
    std::set<ElementBits> distinct;
    for (int warp = 0; warp < layout.warpCount(); ++warp) {
      for (int lane = 0; lane < 32; lane += 3) {
        for (size_t i = 0; i < runs.order.size(); ++i) {
          const ElementBits element = layout.element(runs.order[i], lane, warp);
          const ElementBits first = layout.element(runs.order[i - i % runs.length], lane, warp);
          ASSERT_EQ(element, first + step * (i % runs.length));
          ASSERT_EQ(shape.coordinate(first, dim) % runs.length, 0u);
          ASSERT_EQ(element, layout.element(runs.order[i % runs.distinct], lane, warp));
          if (lane == 0 && warp == 0)
            distinct.insert(element);
        }
      }
    }
    ASSERT_EQ(static_cast<int>(distinct.size()), runs.distinct);
    // Twice as long: the next element is in no register of the thread, or the run unaligned.
    if (runs.length < 1 << shape.width(dim)) {
      const ElementBits next = step * runs.length;
      bool possible = distinct.contains(next);
      for (const Bases *bases : {&layout.lanes, &layout.warps})
        for (const ElementBits basis : *bases)
          possible &= !(basis & next);
      ASSERT_FALSE(possible) << layout.text();
    }
  }
}

TEST(LayoutBuildersTest, CanonicalFormsAgreeWhenRegistersAreRenamed) {
  const LinearLayout first{{1, 2}, {4, 8, 16, 0, 0}, {}};
  const LinearLayout renamed{{3, 0, 2}, {4, 8, 16, 0, 0}, {}};
  const LinearLayout other{{1, 2}, {8, 4, 16, 0, 0}, {}};
  EXPECT_TRUE(equalUpToRegisters(first, renamed));
  EXPECT_FALSE(equalUpToRegisters(first, other));
  EXPECT_EQ(sourceRegisters(renamed, first), (llvm::SmallVector<uint32_t>{0, 3, 0, 3, 2, 1, 2, 1}));
  EXPECT_EQ(sourceRegisters(other, first), std::nullopt);
}

TEST(LayoutBuildersTest, InputsAlongADimension) {
  const ShapeBits shape({16, 32});
  const LinearLayout layout = blocked({16, 32}, {2, 2}, {4, 8}, {1, 2}, {1, 0});
  EXPECT_EQ(inputsAlong(layout, shape, 1), (InputBits{1, 7, 1}));
  EXPECT_EQ(inputsAlong(layout, shape, 0), (InputBits{2 | 4, 24, 0}));
  const LinearLayout mixed{{33}, {1, 2, 4, 8, 16}, {}};
  EXPECT_EQ(inputsAlong(mixed, shape, 0), std::nullopt);
}

TEST(LayoutBuildersTest, ShapeChangesMoveNoElement) {
  Random random(8);
  for (int trial = 0; trial < 2000; ++trial) {
    const int rank = uniform(random, 1, 4);
    Sizes sizes = randomSizes(random, rank, rank > 2 ? 2 : 4);
    const ShapeBits shape(sizes);
    const LinearLayout layout = randomLayout(random, shape.width(), uniform(random, 0, 2));
    const int reg = uniform(random, 0, layout.registerCount() - 1);
    const int lane = uniform(random, 0, 31), warp = uniform(random, 0, layout.warpCount() - 1);
    llvm::SmallVector<int, 4> identity(rank);
    std::iota(identity.rbegin(), identity.rend(), 0);
    const Sizes at = unflatten(layout.element(reg, lane, warp), sizes, identity);
    const int dim = uniform(random, 0, rank - 1);

    const llvm::SmallVector<int, 4> permutation = randomOrder(random, rank);
    Sizes turned, turnedAt, rest, restAt, one = sizes, oneAt = at;
    for (int i = 0; i < rank; ++i) {
      turned.push_back(sizes[permutation[i]]);
      turnedAt.push_back(at[permutation[i]]);
      if (i != dim) {
        rest.push_back(sizes[i]);
        restAt.push_back(at[i]);
      }
    }
    ASSERT_EQ(transposed(layout, shape, permutation).element(reg, lane, warp),
              flatten(turnedAt, turned));

    const LinearLayout slice = sliced(layout, shape, dim);
    ASSERT_TRUE(isSurjective(slice, ShapeBits(rest).width()));
    ASSERT_EQ(slice.element(slicedRegisters(layout, shape, dim)[reg], lane, warp),
              flatten(restAt, rest));

    one[dim] = 1;
    oneAt[dim] = 0;
    const ShapeBits oneShape(one);
    const LinearLayout operand = broadcastOperand(layout, oneShape, shape);
    const auto from =
        sourceRegisters(layout, operand, f2::Columns(broadcastElements(oneShape, shape)));
    ASSERT_TRUE(from);
    ASSERT_EQ(operand.element((*from)[reg], lane, warp), flatten(oneAt, one));
    const LinearLayout back = broadcasted(operand, oneShape, shape);
    ASSERT_TRUE(isSurjective(back, shape.width()));
    for (int r = 0; r < back.registerCount(); ++r)
      ASSERT_EQ(combine(broadcastElements(oneShape, shape), back.element(r, lane, warp)),
                operand.element(r % operand.registerCount(), lane, warp));

    const LinearLayout join = joined(layout);
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(join.element(2 * reg + i, lane, warp), 2 * layout.element(reg, lane, warp) + i);
    ASSERT_TRUE(equalUpToRegisters(split(join), layout));
    if (shape.width() > 0)
      ASSERT_TRUE(isSurjective(split(layout), shape.width() - 1));
  }
}

} // namespace
} // namespace blockscope::gpu
