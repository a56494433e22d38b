// Swizzled tiles against the address formula, ldmatrix and stmatrix, and conflicts by brute force.
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/matrix_access.h"
#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/layout/transposing_layout.h"
#include "tests/unit/gpu/layout_random.h"
#include "tests/unit/gpu/layout_simulate.h"

#include "gtest/gtest.h"

namespace blockscope::gpu {
namespace {

TEST(LayoutSharedTest, SwizzlesFollowTheAddressFormula) {
  for (const int swizzle : {128, 64, 32}) {
    for (const int bytes : {1, 2, 4}) {
      for (const int contiguous : {1, 2}) {
        const int64_t stages = 2, shape[] = {stages, 64, 256};
        if (shape[contiguous] * bytes < swizzle)
          continue;
        const SharedLayout shared = swizzledShared(shape, contiguous, bytes, swizzle);
        ASSERT_EQ(shared.sizeBytes(), stages * 64 * 256 * bytes);
        ASSERT_TRUE(f2::rank(shared.offsets) == 15);
        const int rows = contiguous == 2 ? 64 : 256;
        for (int stage = 0; stage < 2; ++stage) {
          for (int i = 0; i < 64; ++i) {
            for (int j = 0; j < 256; j += 3) {
              const int row = contiguous == 2 ? i : j;
              const int byte = (contiguous == 2 ? j : i) * bytes;
              const int plain = stage * 64 * 256 * bytes + byte / swizzle * rows * swizzle +
                                row * swizzle + byte % swizzle;
              const int expected = plain ^ (((plain >> 7) & (swizzle / 16 - 1)) << 4);
              ASSERT_EQ(shared.offsetBytes((stage * 64 + i) * 256 + j),
                        static_cast<uint32_t>(expected));
            }
          }
        }
      }
    }
  }
}

void expectLoads(const MatrixAccess &access, const LinearLayout &layout,
                 const SharedLayout &shared) {
  SharedMemory memory(shared.sizeBytes(), shared.elementBytes);
  for (uint32_t element = 0; element < 1u << shared.offsets.size(); ++element)
    memory.write(shared.offsetBytes(element), element);
  RegisterFile loaded = emptyFile(layout);
  const AccessCount count = runMatrixLoad(access, shared.elementBytes, 0, 0, memory, loaded);
  ASSERT_EQ(loaded, fill(layout));
  ASSERT_EQ(count.wavefronts, access.wavefronts * layout.warpCount());
}

TEST(LayoutSharedTest, OperandsLoadFromSwizzledTilesByLdmatrix) {
  const MmaWarps warps{2, 2, 1};
  for (const int swizzle : {128, 64, 32}) {
    const int64_t shape[] = {64, 64};
    const SharedLayout rowMajor = swizzledShared(shape, 1, 2, swizzle);
    const SharedLayout columnMajor = swizzledShared(shape, 0, 2, swizzle);
    const LinearLayout a = mmaOperandA(shape, 2, warps), b = mmaOperandB(shape, 2, warps);
    const struct {
      const LinearLayout &layout;
      const SharedLayout &shared;
      bool transposed;
    } cases[] = {
        {a, rowMajor, false}, {a, columnMajor, true}, {b, rowMajor, true}, {b, columnMajor, false}};
    for (const auto &[layout, shared, transposed] : cases) {
      const std::optional<MatrixAccess> access = matrixLoad(layout, shared);
      ASSERT_TRUE(access);
      EXPECT_EQ(access->transposed, transposed);
      EXPECT_EQ(access->matrices, 4);
      expectLoads(*access, layout, shared);
      EXPECT_EQ(access->wavefronts, 4 * static_cast<int>(access->instructions.size()));
    }
  }
}

TEST(LayoutSharedTest, OperandsOfOtherWidthsLoadStraight) {
  const int64_t shape[] = {64, 128};
  for (const int bytes : {1, 4}) {
    const SharedLayout shared = swizzledShared(shape, 1, bytes, 128);
    const LinearLayout a = mmaOperandA(shape, bytes, {4, 1, 1});
    const std::optional<MatrixAccess> access = matrixLoad(a, shared);
    ASSERT_TRUE(access);
    expectLoads(*access, a, shared);
    EXPECT_FALSE(matrixLoad(a, swizzledShared(shape, 0, bytes, 32)));
  }
  EXPECT_FALSE(matrixLoad(mmaOperandA(shape, 8, {}), plainShared(13, 8)));
}

TEST(LayoutSharedTest, BlocksMoveToTheirOtherDimension) {
  const int64_t shapes[][2] = {{64, 128}, {32, 64}, {128, 16}, {256, 256}, {32, 32}};
  for (const auto &shape : shapes)
    for (const int bytes : {1, 4})
      for (const int64_t warps : {1, 4, 8}) {
        const auto tile = [&](int dim) {
          const int row = static_cast<int>(shape[dim]) * bytes;
          return row < 32 ? plainShared(ShapeBits(shape).width(), bytes)
                          : swizzledShared(shape, dim, bytes, std::min(row, 128));
        };
        if (shape[0] * bytes < 32 || shape[1] * bytes < 32)
          continue;
        const SharedLayout from = tile(1), to = tile(0);
        const std::optional<LinearLayout> layout = transposingLayout(shape, from, to, 0, warps);
        ASSERT_TRUE(layout);
        EXPECT_TRUE(isSurjective(*layout, ShapeBits(shape).width()));
        EXPECT_EQ(layout->warpCount(), warps);
        if (bytes == 1) { // pieces of 16 bits in two rows, then of 32 bits
          const std::optional<MatrixAccess> load = matrixLoad(*layout, from);
          ASSERT_TRUE(load && load->transposed);
          EXPECT_LE(load->conflictWays(), 2);
          expectLoads(*load, *layout, from);
          ASSERT_TRUE(matrixLoad(*layout, to));
          expectLoads(*matrixLoad(*layout, to), *layout, to);
        } else {
          EXPECT_EQ(vectorLoad(*layout, from).vectorBytes, 16);
          EXPECT_EQ(vectorStore(*layout, to).vectorBytes, 16);
          EXPECT_LE(vectorLoad(*layout, from).conflictWays(), 2);
          EXPECT_LE(vectorStore(*layout, to).conflictWays(), 4);
        }
      }
  const int64_t small[] = {8, 8};
  EXPECT_FALSE(transposingLayout(small, plainShared(6, 4), plainShared(6, 4), 0, 4));
}

TEST(LayoutSharedTest, BetweenTwoBuffersThreadsMeetFewConflicts) {
  for (const int64_t warps : {4, 8})
    for (const int toBytes : {1, 4}) {
      const int64_t shape[] = {32, 256};
      const ShapeBits bits(shape);
      const SharedLayout to = swizzledShared(shape, 0, toBytes, 32 * toBytes);
      SharedLayout from = plainShared(bits.width(), 1);
      from.offsets[bits.shift(0)] = 0; // packed: two rows are one
      const std::optional<LinearLayout> layout = layoutBetween(shape, from, to, 0, warps);
      ASSERT_TRUE(layout);
      EXPECT_TRUE(isSurjective(*layout, bits.width()));
      EXPECT_EQ(layout->warpCount(), warps);
      EXPECT_LE(vectorStore(*layout, to).conflictWays(), 2);
      EXPECT_LE(vectorLoad(*layout, from).conflictWays(), 2);
    }
  const int64_t small[] = {2, 8};
  EXPECT_FALSE(layoutBetween(small, plainShared(4, 4), plainShared(4, 4), 0, 4));
}

TEST(LayoutSharedTest, AccumulatorsStoreToSwizzledTilesByStmatrix) {
  const int64_t shape[] = {64, 128};
  const SharedLayout shared = swizzledShared(shape, 1, 2, 128);
  const LinearLayout accumulator = wgmmaAccumulator(shape, 128, {4, 1, 1});
  const std::optional<MatrixAccess> access = matrixStore(accumulator, shared);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->matrices, 4);
  EXPECT_EQ(access->instructions.size(), 8u);
  EXPECT_EQ(access->wavefronts, 32);
  SharedMemory memory(shared.sizeBytes(), 2);
  runMatrixStore(*access, 2, 0, 0, fill(accumulator), memory);
  for (uint32_t element = 0; element < 64 * 128; ++element)
    ASSERT_EQ(memory.read(shared.offsetBytes(element)), element);
  // As measured: lane l gives row l & 15 and the 16-byte column l >> 4 of a block of 16 x 16.
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(combine(access->lanes, lane),
              shared.offsetBytes((lane & 15) * 128 + (lane >> 4) * 8));
  EXPECT_EQ(access->instructions[0].registers,
            (llvm::SmallVector<uint32_t, 16>{0, 1, 2, 3, 4, 5, 6, 7}));

  const LinearLayout copies = mmaAccumulator({8, 8}, 2, {});
  EXPECT_TRUE(matrixStore(copies, plainShared(6, 2)));
  const LinearLayout laneCopies = blockedForAccess({8, 2}, {1, 0}, 2, 1);
  EXPECT_FALSE(matrixStore(laneCopies, plainShared(4, 2)));
}

TEST(LayoutSharedTest, RowsStoreToSwizzledTilesByVectors) {
  const int64_t shape[] = {64, 64};
  const LinearLayout rows = blockedForAccess(shape, {1, 0}, 8, 4);
  for (const int swizzle : {128, 64, 32}) {
    const SharedAccess store = vectorStore(rows, swizzledShared(shape, 1, 2, swizzle));
    EXPECT_EQ(store.vectorBytes, 16);
    // Eight lanes write a row of 128 bytes: chunks of a narrower swizzle lie in the same banks.
    EXPECT_EQ(store.wavefronts, 4 * static_cast<int>(store.vectors.size()) * 128 / swizzle);
    for (const SharedVector &vector : store.vectors) { // XOR and addition agree, as promised
      const uint32_t flipped = vector.offsetBytes & store.threadBits();
      for (uint32_t lane = 0; lane < 32; ++lane)
        EXPECT_EQ(vector.offsetBytes ^ store.threadOffsetBytes(lane, 3),
                  (flipped ^ store.threadOffsetBytes(lane, 3)) + (vector.offsetBytes - flipped));
    }
  }
}

TEST(LayoutSharedTest, ReversedSwizzlesSuitWidePiecesOfRows) {
  for (const int64_t depth : {32, 64, 128}) {
    const int64_t shapeA[] = {16, depth}, shapeB[] = {depth, 32};
    const LinearLayout a = mmaOperandA(shapeA, 2, {}, DepthOrder::Eights);
    const LinearLayout b = mmaOperandB(shapeB, 2, {}, DepthOrder::Eights);
    const auto swizzled = [](llvm::ArrayRef<int64_t> shape, int dim, int bytes) {
      const int64_t row = std::min<int64_t>(shape[dim] * bytes, 128);
      return swizzledShared(shape, dim, bytes, static_cast<int>(row));
    };
    const SharedLayout halves = withReversedSwizzle(swizzled(shapeA, 1, 2));
    const SharedLayout bytes = withReversedSwizzle(swizzled(shapeB, 0, 1));
    EXPECT_EQ(vectorLoad(a, halves).vectorBytes, 16);
    EXPECT_EQ(vectorLoad(a, halves).conflictWays(), 1);
    EXPECT_EQ(vectorLoad(b, bytes).vectorBytes, 8);
    EXPECT_EQ(vectorLoad(b, bytes).conflictWays(), 1);
    // By ldmatrix it is all the same, as it is to what writes rows.
    const LinearLayout plain = mmaOperandA(shapeA, 2, {});
    EXPECT_EQ(matrixLoad(plain, halves)->conflictWays(),
              matrixLoad(plain, swizzled(shapeA, 1, 2))->conflictWays());
    EXPECT_EQ(withReversedSwizzle(halves), swizzled(shapeA, 1, 2));
  }
}

TEST(LayoutSharedTest, RandomLayoutsLoadByMatricesOrNotAtAll) {
  Random random(21);
  int found = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const int width = uniform(random, 6, 9), bytes = 1 << uniform(random, 0, 2);
    LinearLayout layout = randomLayout(random, width, uniform(random, 0, 1));
    const SharedLayout shared = plainShared(width, bytes);
    if (uniform(random, 0, 1)) { // likelier to fit
      layout.lanes = bytes == 1   ? Bases{4, 8, 16, 32, 32}
                     : bytes == 2 ? Bases{2, 4, 8, 16, 32}
                                  : Bases{1, 2, 4, 8, 16};
      if (bytes == 2 && uniform(random, 0, 1))
        layout.lanes = {16, 8, 1, 2, 4};
    }
    if (const std::optional<MatrixAccess> access = matrixLoad(layout, shared)) {
      ++found;
      RegisterFile expected = fill(layout);
      SharedMemory memory(shared.sizeBytes(), bytes);
      for (uint32_t element = 0; element < 1u << width; ++element)
        memory.write(shared.offsetBytes(element), element);
      RegisterFile loaded = emptyFile(layout);
      const AccessCount count = runMatrixLoad(*access, bytes, 0, 0, memory, loaded);
      ASSERT_EQ(count.wavefronts, access->wavefronts * layout.warpCount());
      const uint32_t copies = freeBits(layout).registers;
      for (int warp = 0; warp < layout.warpCount(); ++warp)
        for (int lane = 0; lane < 32; ++lane)
          for (int reg = 0; reg < layout.registerCount(); ++reg)
            if (!(reg & copies))
              ASSERT_EQ(loaded[warp][lane][reg], expected[warp][lane][reg]) << layout.text();
    }
  }
  EXPECT_GT(found, 50);
}

TEST(LayoutSharedTest, PredictedWavefrontsAreCountedOnes) {
  Random random(22);
  for (int trial = 0; trial < 5000; ++trial) {
    const int vectorBytes = 1 << uniform(random, 0, 4);
    Bases lanes;
    for (int bit = 0; bit < 5; ++bit)
      lanes.push_back((random() & 4095) / vectorBytes * vectorBytes);
    const uint32_t idle = uniform(random, 0, 1) ? 0 : random() & 31;
    std::vector<int64_t> offsets(32, -1);
    for (uint32_t lane = 0; lane < 32; ++lane)
      if ((lane & idle) == 0)
        offsets[lane] = combine(lanes, lane);
    ASSERT_EQ(accessWavefronts(lanes, vectorBytes, idle), countWavefronts(offsets, vectorBytes));
  }
}

} // namespace
} // namespace blockscope::gpu
