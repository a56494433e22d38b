// Tensor core fragments against the index formulas of the PTX ISA, and how warps share a tile.
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/mma_layouts.h"

#include "gtest/gtest.h"

#include <functional>

namespace blockscope::gpu {
namespace {

struct At {
  int row, column;
};
using Formula = std::function<At(int reg, int lane)>;

void expectFragment(const LinearLayout &layout, int columns, int registers,
                    const Formula &formula) {
  ASSERT_EQ(layout.registerCount(), registers);
  ASSERT_EQ(layout.laneCount(), 32);
  for (int lane = 0; lane < 32; ++lane) {
    for (int reg = 0; reg < registers; ++reg) {
      const At at = formula(reg, lane);
      EXPECT_EQ(layout.element(reg, lane, 0), static_cast<uint32_t>(at.row * columns + at.column))
          << "register " << reg << " lane " << lane;
    }
  }
}

int group(int lane) { return lane >> 2; }
int inGroup(int lane) { return lane % 4; }

TEST(LayoutMmaTest, AccumulatorsFollowThePtxFormulas) {
  expectFragment(mmaAccumulator({16, 8}, 2, {}), 8, 4, [](int i, int lane) {
    return At{group(lane) + (i < 2 ? 0 : 8), inGroup(lane) * 2 + (i & 1)};
  });
  expectFragment(mmaAccumulator({8, 8}, 8, {}), 8, 2,
                 [](int i, int lane) { return At{group(lane), inGroup(lane) * 2 + (i & 1)}; });
}

TEST(LayoutMmaTest, PairedOperandsOfTf32TakeTheColumnsOfAccumulators) {
  // Where the instruction wants depth t, both operands have 2t; where it wants t + 4, 2t + 1.
  expectFragment(mmaOperandA({16, 8}, 4, {}, DepthOrder::Paired), 8, 4, [](int i, int lane) {
    return At{i == 0 || i == 2 ? group(lane) : group(lane) + 8,
              inGroup(lane) * 2 + (i < 2 ? 0 : 1)};
  });
  expectFragment(mmaOperandB({8, 8}, 4, {}, DepthOrder::Paired), 8, 2, [](int i, int lane) {
    return At{inGroup(lane) * 2 + (i == 0 ? 0 : 1), group(lane)};
  });
  const MmaWarps warps{4, 1, 1};
  EXPECT_TRUE(sourceRegisters(wgmmaOperandA({64, 32}, 4, warps, DepthOrder::Paired),
                              wgmmaAccumulator({64, 32}, 32, warps)));
  EXPECT_FALSE(
      sourceRegisters(wgmmaOperandA({64, 32}, 4, warps), wgmmaAccumulator({64, 32}, 32, warps)));
}

TEST(LayoutMmaTest, OperandsOf16BitsFollowThePtxFormulas) {
  expectFragment(mmaOperandA({16, 16}, 2, {}), 16, 8, [](int i, int lane) {
    const bool upper = i < 2 || (i >= 4 && i < 6);
    return At{upper ? group(lane) : group(lane) + 8, inGroup(lane) * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  });
  expectFragment(mmaOperandB({16, 8}, 2, {}), 8, 4, [](int i, int lane) {
    return At{inGroup(lane) * 2 + (i & 1) + (i < 2 ? 0 : 8), group(lane)};
  });
}

TEST(LayoutMmaTest, OperandsOfTf32FollowThePtxFormulas) {
  expectFragment(mmaOperandA({16, 8}, 4, {}), 8, 4, [](int i, int lane) {
    return At{i == 0 || i == 2 ? group(lane) : group(lane) + 8,
              i < 2 ? inGroup(lane) : inGroup(lane) + 4};
  });
  expectFragment(mmaOperandB({8, 8}, 4, {}), 8, 2, [](int i, int lane) {
    return At{i == 0 ? inGroup(lane) : inGroup(lane) + 4, group(lane)};
  });
}

TEST(LayoutMmaTest, OperandsOf8BitsFollowThePtxFormulas) {
  expectFragment(mmaOperandA({16, 32}, 1, {}), 32, 16, [](int i, int lane) {
    const bool upper = i < 4 || (i >= 8 && i < 12);
    return At{upper ? group(lane) : group(lane) + 8,
              inGroup(lane) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  });
  expectFragment(mmaOperandB({32, 8}, 1, {}), 8, 8, [](int i, int lane) {
    return At{inGroup(lane) * 4 + (i & 3) + (i < 4 ? 0 : 16), group(lane)};
  });
}

TEST(LayoutMmaTest, NeighboursAreTogetherInBothOperands) {
  // Where the instruction wants depth 4t + i, both operands have 8t + i; where it wants 16 more, 4
  // more. Bytes of two elements have the same ones.
  expectFragment(mmaOperandA({16, 32}, 1, {}, DepthOrder::Neighbours), 32, 16, [](int i, int lane) {
    return At{group(lane) + i / 4 % 2 * 8, inGroup(lane) * 8 + (i & 3) + (i < 8 ? 0 : 4)};
  });
  expectFragment(mmaOperandA({16, 16}, 1, {}, DepthOrder::PackedNeighbours), 16, 8,
                 [](int i, int lane) {
                   return At{group(lane) + (i < 4 ? 0 : 8), inGroup(lane) * 4 + (i & 3)};
                 });
  expectFragment(mmaOperandB({32, 8}, 1, {}, DepthOrder::Neighbours), 8, 8,
                 [](int i, int lane) { return At{inGroup(lane) * 8 + i, group(lane)}; });
  expectFragment(mmaOperandB({16, 8}, 1, {}, DepthOrder::PackedNeighbours), 8, 4,
                 [](int i, int lane) { return At{inGroup(lane) * 4 + i, group(lane)}; });
}

TEST(LayoutMmaTest, EightsAreOfTwoInstructions) {
  // Both operands have K = 8t + i where instruction s wants 2t + i % 2, or 8 more, with i / 4 == s.
  // In A the words of one row are side by side.
  expectFragment(mmaOperandA({16, 32}, 2, {}, DepthOrder::Eights), 32, 16, [](int i, int lane) {
    return At{group(lane) + i / 4 % 2 * 8, inGroup(lane) * 8 + i % 4 + i / 8 * 4};
  });
  expectFragment(mmaOperandB({32, 8}, 2, {}, DepthOrder::Eights), 8, 8,
                 [](int i, int lane) { return At{inGroup(lane) * 8 + i, group(lane)}; });
  const LinearLayout deep = mmaOperandB({128, 8}, 2, {}, DepthOrder::Eights);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(deep.element(i, 3, 0), static_cast<uint32_t>((i / 8 * 32 + 24 + i % 8) * 8));
}

TEST(LayoutMmaTest, TurnedOperandsChangeRoles) {
  const MmaWarps warps{1, 4, 1};
  const MmaLayouts turned = mmaLayouts({16, 32}, {32, 64}, 2, warps, DepthOrder::Eights, true);
  const LinearLayout a = mmaOperandB({32, 16}, 2, {4, 1, 1}, DepthOrder::Eights);
  const LinearLayout b = mmaOperandA({64, 32}, 2, {4, 1, 1}, DepthOrder::Eights);
  const LinearLayout sums = mmaAccumulator({64, 16}, 2, {4, 1, 1});
  const auto expectTransposed = [](const LinearLayout &layout, const LinearLayout &of, int columns,
                                   int columnsBefore) {
    ASSERT_EQ(layout.registerCount(), of.registerCount());
    for (int warp = 0; warp < 4; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < of.registerCount(); ++reg) {
          const int before = static_cast<int>(of.element(reg, lane, warp));
          EXPECT_EQ(
              layout.element(reg, lane, warp),
              static_cast<uint32_t>(before % columnsBefore * columns + before / columnsBefore));
        }
  };
  expectTransposed(turned.a, a, 32, 16);
  expectTransposed(turned.b, b, 64, 32);
  expectTransposed(turned.accumulator, sums, 64, 16);
}

/// The threads whose words an instruction takes, and the lines that they have the scales of, stand
/// in PTX ISA 9.0, 9.7.14.3.
void expectScales(llvm::ArrayRef<int64_t> shape, MmaScales scales, MmaWarps warps) {
  const LinearLayout layout = mmaScales(shape, scales, warps);
  const ShapeBits bits(shape);
  EXPECT_TRUE(isSurjective(layout, bits.width()));
  const int inTile = scales.isOfRows ? 16 : 8;
  const auto side = static_cast<int>(scales.isOfRows ? warps.m : warps.n);
  for (int tile = 0; tile < shape[0] / (inTile * side); ++tile)
    for (int step = 0; step < shape[1] / scales.groupsPerStep; ++step) {
      const ScalePlace place = scalePlace(shape, scales, warps, 0, tile, step);
      EXPECT_LE(place.byte + scales.groupsPerStep, 4);
      EXPECT_EQ(place.byte % scales.groupsPerStep, 0);
      for (int warp = 0; warp < layout.warpCount(); ++warp)
        for (int line = 0; line < inTile; ++line)
          for (int i = 0; i < scales.groupsPerStep; ++i) {
            const int lane =
                line % 8 * 4 + (scales.isOfRows ? 2 * place.thread + line / 8 : place.thread);
            const ElementBits element = layout.element(4 * place.word + place.byte + i, lane, warp);
            const auto ofWarp = static_cast<int>(scales.isOfRows ? warp % warps.m : warp / warps.m);
            EXPECT_EQ(bits.coordinate(element, 0),
                      static_cast<uint32_t>((tile * side + ofWarp) * inTile + line));
            EXPECT_EQ(bits.coordinate(element, 1),
                      static_cast<uint32_t>(step * scales.groupsPerStep + i));
          }
    }
}

TEST(LayoutMmaTest, ScalesAreWhereInstructionsTakeThem) {
  for (const bool isOfRows : {true, false})
    for (const int groupsPerStep : {1, 2, 4})
      for (const int64_t lines : {16, 32, 128, 256})
        for (const int64_t groups : {4, 8, 16})
          for (const MmaWarps warps : {MmaWarps{1, 1, 1}, MmaWarps{2, 2, 1}, MmaWarps{1, 2, 1}})
            expectScales({lines, groups}, {isOfRows, groupsPerStep}, warps);
  expectScales({64, 1}, {true, 1}, {1, 2, 1});
  expectScales({64, 2}, {false, 2}, {2, 1, 1});
  // Four groups of a row are a word; lanes of two have two tiles, and the second word the others.
  EXPECT_EQ(scalePlace({128, 4}, {true, 1}, {2, 2, 1}, 0, 3, 2).word, 1);
  EXPECT_EQ(scalePlace({128, 4}, {true, 1}, {2, 2, 1}, 0, 3, 2).byte, 2);
  EXPECT_EQ(scalePlace({128, 4}, {true, 1}, {2, 2, 1}, 0, 3, 2).thread, 1);
}

TEST(LayoutMmaTest, OperandsOf64BitsFollowThePtxFormulas) {
  expectFragment(mmaOperandA({8, 4}, 8, {}), 4, 1,
                 [](int, int lane) { return At{lane >> 2, lane % 4}; });
  expectFragment(mmaOperandB({4, 8}, 8, {}), 8, 1,
                 [](int, int lane) { return At{lane % 4, lane >> 2}; });
}

TEST(LayoutMmaTest, WgmmaAccumulatorFollowsThePtxFormula) {
  for (const int n : {8, 16, 64, 256}) {
    const LinearLayout layout = wgmmaAccumulator({64, n}, n, {4, 1, 1});
    ASSERT_EQ(layout.registerCount(), n / 2);
    for (int thread = 0; thread < 128; ++thread) {
      for (int i = 0; i < n / 2; ++i) {
        const int row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
        const int column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
        ASSERT_EQ(layout.element(i, thread % 32, thread / 32),
                  static_cast<uint32_t>(row * n + column));
      }
    }
  }
}

TEST(LayoutMmaTest, WgmmaOperandIsTheAccumulatorOfTheProductBefore) {
  for (const int n : {16, 64, 128})
    EXPECT_EQ(wgmmaOperandA({128, n}, 2, {8, 1, 1}), wgmmaAccumulator({128, n}, n, {8, 1, 1}));
}

TEST(LayoutMmaTest, TilesAreConsecutiveRegistersAndWarpsLieAlongMThenN) {
  const LinearLayout accumulator = mmaAccumulator({128, 64}, 2, {4, 2, 1});
  ASSERT_EQ(accumulator.registerCount(), 4 * 4 * 2); // 4 registers, 4 tiles along N, 2 along M
  for (int tile = 0; tile < 8; ++tile)
    for (int warp = 0; warp < 8; ++warp)
      EXPECT_EQ(accumulator.element(4 * tile, 0, warp),
                static_cast<uint32_t>((tile / 4 * 64 + warp % 4 * 16) * 64 + tile % 4 * 16 +
                                      warp / 4 * 8));

  const LinearLayout a = mmaOperandA({128, 32}, 2, {4, 2, 1});
  ASSERT_EQ(a.registerCount(), 8 * 2 * 2); // two steps of K, then two tiles of M
  for (int warp = 0; warp < 8; ++warp)
    EXPECT_EQ(a.element(8 * 3, 0, warp), static_cast<uint32_t>((64 + warp % 4 * 16) * 32 + 16));
  EXPECT_EQ(freeBits(a), (InputBits{0, 0, 4}));

  const LinearLayout b = mmaOperandB({32, 64}, 2, {4, 2, 1});
  ASSERT_EQ(b.registerCount(), 4 * 2 * 4);
  for (int warp = 0; warp < 8; ++warp)
    EXPECT_EQ(b.element(4 * 3, 0, warp), static_cast<uint32_t>(16 * 64 + 16 + warp / 4 * 8));
  EXPECT_EQ(freeBits(b), (InputBits{0, 0, 3}));
}

TEST(LayoutMmaTest, SmallShapesMakeCopiesAndBatchesShareWarps) {
  const LinearLayout small = mmaAccumulator({8, 8}, 2, {2, 2, 1});
  EXPECT_TRUE(isSurjective(small, 6));
  EXPECT_EQ(freeBits(small), (InputBits{2, 0, 3}));
  const LinearLayout batch = mmaAccumulator({4, 16, 8}, 2, {1, 1, 2});
  EXPECT_TRUE(isSurjective(batch, 9));
  EXPECT_EQ(batch.warpElement(1), 128u);
  EXPECT_EQ(batch.registerElement(4), 256u);
}

TEST(LayoutMmaTest, ProductsCoverEveryTripleOnce) {
  // Warp by warp: the rows of its A are those of its accumulator, the columns of its B likewise.
  const MmaWarps warps{2, 4, 1};
  for (const int bytes : {1, 2, 4, 8}) {
    const int m = 64, n = 64, k = 64;
    const LinearLayout c = mmaAccumulator({m, n}, bytes, warps);
    const LinearLayout a = mmaOperandA({m, k}, bytes, warps);
    const LinearLayout b = mmaOperandB({k, n}, bytes, warps);
    for (int warp = 0; warp < 8; ++warp) {
      EXPECT_EQ(a.warpElement(warp) / k, c.warpElement(warp) / n);
      EXPECT_EQ(b.warpElement(warp) % n, c.warpElement(warp) % n);
    }
    EXPECT_TRUE(isSurjective(a, 12) && isSurjective(b, 12) && isSurjective(c, 12));
  }
}

} // namespace
} // namespace blockscope::gpu
