// Conversion plans, executed, against the definition of the destination; conflicts as predicted.
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "tests/unit/gpu/layout_random.h"
#include "tests/unit/gpu/layout_simulate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

namespace blockscope::gpu {
namespace {

using Kind = ConversionPlan::Kind;

constexpr int kElementBytes[] = {1, 2, 4, 8};

/// Runs the plan and compares every register of every thread.
void expectConverts(const ConversionPlan &plan, const LinearLayout &source,
                    const LinearLayout &destination) {
  ASSERT_EQ(simulate(plan, fill(source), destination).destination, fill(destination))
      << "from " << source.text() << " to " << destination.text();
}

void expectShared(const SharedPlan &plan, const LinearLayout &source,
                  const LinearLayout &destination, int width) {
  const Simulated run = simulateShared(plan, fill(source), destination);
  ASSERT_EQ(run.destination, fill(destination))
      << "from " << source.text() << " to " << destination.text();
  ASSERT_EQ(run.elementsWritten, 1 << width) << "every element is written once";
  if (!plan.uniformRounds)
    return;
  const InputBits idle = plan.matrixStore ? plan.matrixStore->idle : plan.store.idle;
  const int storingWarps = source.warpCount() >> llvm::popcount(idle.warps);
  const int stores = plan.matrixStore ? plan.matrixStore->wavefronts : plan.store.wavefronts;
  const int loads = plan.matrixLoad ? plan.matrixLoad->wavefronts : plan.load.wavefronts;
  ASSERT_EQ(run.storeWavefronts, stores * storingWarps);
  ASSERT_EQ(run.loadWavefronts, loads * destination.warpCount());
}

TEST(LayoutConversionTest, AnyPairConvertsAsPlanned) {
  Random random(11);
  int kinds[4] = {};
  for (int trial = 0; trial < 2500; ++trial) {
    const int width = uniform(random, 0, 10), warpBits = uniform(random, 0, 3);
    const LinearLayout source = randomLayout(random, width, warpBits);
    const LinearLayout destination = randomLayout(random, width, warpBits);
    const int bytes = kElementBytes[trial % 4];
    ConversionOptions options;
    options.sharedLimitBytes = uniform(random, 0, 1) ? 65536 : 512;
    const ConversionPlan plan = planConversion(source, destination, width, bytes, options);
    ++kinds[static_cast<int>(plan.kind)];
    expectConverts(plan, source, destination);
    if (plan.shared)
      ASSERT_LE(plan.sharedBytes(), options.sharedLimitBytes);
    expectShared(planShared(source, destination, width, bytes, options), source, destination,
                 width);
    if (const auto shuffles = planShuffles(source, destination, bytes)) {
      ConversionPlan forced;
      forced.kind = Kind::Shuffles;
      forced.shuffles = shuffles;
      expectConverts(forced, source, destination);
    }
  }
  EXPECT_GT(kinds[static_cast<int>(Kind::Shuffles)], 100);
  EXPECT_GT(kinds[static_cast<int>(Kind::Shared)], 100);
}

/// Changes lanes and registers of a layout among each other, and warps by them.
LinearLayout mixWithinWarps(Random &random, const LinearLayout &layout) {
  LinearLayout mixed = layout;
  const auto any = [&]() -> ElementBits & {
    const size_t count = mixed.registers.size() + mixed.lanes.size();
    const size_t pick = uniform(random, 0, static_cast<int>(count) - 1);
    return pick < mixed.registers.size() ? mixed.registers[pick]
                                         : mixed.lanes[pick - mixed.registers.size()];
  };
  for (int step = 0; step < 12; ++step) {
    ElementBits &first = any(), &second = any();
    if (&first == &second)
      continue;
    if (uniform(random, 0, 1))
      std::swap(first, second);
    else
      first ^= second;
  }
  for (ElementBits &warp : mixed.warps)
    if (uniform(random, 0, 1))
      warp ^= any();
  return mixed;
}

TEST(LayoutConversionTest, WhateverStaysInWarpsConvertsByShuffles) {
  Random random(12);
  int virtualRegisters = 0;
  for (int trial = 0; trial < 2500; ++trial) {
    const int width = uniform(random, 1, 9);
    const LinearLayout source = randomLayout(random, width, uniform(random, 0, 2));
    LinearLayout destination = mixWithinWarps(random, source);
    if (uniform(random, 0, 3) == 0) // a part of the block only, or more copies
      destination.registers = f2::independentSubset(destination.registers);
    if (uniform(random, 0, 3) == 0 && !destination.registers.empty())
      destination.registers.pop_back();
    const int bytes = kElementBytes[trial % 4];
    ASSERT_TRUE(staysInWarps(source, destination));
    ConversionPlan plan;
    plan.kind = Kind::Shuffles;
    plan.shuffles = planShuffles(source, destination, bytes);
    ASSERT_TRUE(plan.shuffles);
    expectConverts(plan, source, destination);
    virtualRegisters += plan.shuffles->receivedCount > 1 << f2::rank(destination.registers);
    for (const ShuffleStep &step : plan.shuffles->steps)
      ASSERT_LE(step.sent.size() * bytes, std::max<size_t>(4, bytes));
  }
  EXPECT_GT(virtualRegisters, 20) << "the case with too few destination registers was not met";
}

TEST(LayoutConversionTest, LayoutsOfBlocksHaveNoConflicts) {
  // Permutations of unit bases without copies: stores and loads take what their bytes need.
  Random random(13);
  for (int trial = 0; trial < 1500; ++trial) {
    const int warpBits = uniform(random, 0, 3), width = uniform(random, 5 + warpBits, 12);
    const auto permuted = [&] {
      Bases bases = f2::identity(width);
      std::shuffle(bases.begin(), bases.end(), random);
      const llvm::ArrayRef<ElementBits> all = bases;
      LinearLayout layout;
      layout.lanes.append(all.begin(), all.begin() + 5);
      layout.warps.append(all.begin() + 5, all.begin() + 5 + warpBits);
      layout.registers.append(all.begin() + 5 + warpBits, all.end());
      return layout;
    };
    const LinearLayout source = permuted(), destination = permuted();
    const int bytes = kElementBytes[trial % 4];
    const SharedPlan plan = planShared(source, destination, width, bytes);
    // One side writes whole words if it has the registers, the other what both have in common.
    const int wordElements = std::max(4 / bytes, 1), words = std::max(bytes / 4, 1);
    const auto least = [&](int common) {
      return source.registerCount() / std::min(wordElements, common) * words;
    };
    int shared = 1;
    for (const ElementBits basis : source.registers)
      shared *= llvm::is_contained(destination.registers, basis) ? 2 : 1;
    EXPECT_LE(plan.wavefronts(), least(source.registerCount()) + least(shared))
        << "from " << source.text() << " to " << destination.text();
    expectShared(plan, source, destination, width);
  }
}

TEST(LayoutConversionTest, NothingAndRenamingAreFree) {
  const LinearLayout layout = blocked({64, 64}, {1, 4}, {4, 8}, {4, 1}, {1, 0});
  EXPECT_EQ(planConversion(layout, layout, 12, 4).kind, Kind::None);
  LinearLayout renamed = layout;
  std::swap(renamed.registers.front(), renamed.registers.back());
  renamed.registers.push_back(0);
  const ConversionPlan plan = planConversion(layout, renamed, 12, 4);
  EXPECT_EQ(plan.kind, Kind::Registers);
  expectConverts(plan, layout, renamed);
}

TEST(LayoutConversionTest, ThreadsThatHoldAllOnlySelect) {
  const LinearLayout everywhere{{1, 2}, {0, 0, 4, 8, 16}, {0}};
  const LinearLayout spread{{}, {1, 2, 4, 8, 16}, {0}};
  const ConversionPlan plan = planConversion(everywhere, spread, 5, 4);
  ASSERT_EQ(plan.kind, Kind::Shuffles);
  EXPECT_EQ(plan.shuffles->shuffleCount, 0);
  expectConverts(plan, everywhere, spread);
}

TEST(LayoutConversionTest, NarrowValuesShareShuffles) {
  // A lane bit and a register bit change places; two halves travel together.
  const LinearLayout source{{1, 2, 4}, {8, 16, 32, 64, 128}, {}};
  const LinearLayout destination{{1, 2, 8}, {4, 16, 32, 64, 128}, {}};
  const auto wide = planShuffles(source, destination, 4);
  const auto narrow = planShuffles(source, destination, 2);
  const auto bytes = planShuffles(source, destination, 1);
  ASSERT_TRUE(wide && narrow && bytes);
  EXPECT_EQ(wide->shuffleCount, 2 * narrow->shuffleCount);
  EXPECT_EQ(wide->shuffleCount, 4 * bytes->shuffleCount);
  EXPECT_LE(wide->shuffleCount, 8);
}

TEST(LayoutConversionTest, ManySelectsAreDearerThanSharedMemory) {
  // Halves that a thread has loaded one by one: shuffles would take forty selects for eight of
  // them, and more to put words together.
  const LinearLayout loaded{{16, 32, 64}, {1, 2, 4, 8, 128}, {}};
  const LinearLayout operand = mmaOperandA({16, 16}, 2, {1, 1, 1});
  const ConversionPlan plan = planConversion(loaded, operand, 8, 2);
  ASSERT_EQ(plan.kind, Kind::Shared);
  EXPECT_TRUE(plan.shared->withinWarps);
  EXPECT_TRUE(plan.shared->matrixLoad);
  expectShared(*plan.shared, loaded, operand, 8);
  // Of a float of each lane the way through a barrier, be it the warp's, is the longer one.
  const LinearLayout lanes{{32}, {1, 2, 4, 8, 16}, {}}, turned{{16}, {1, 2, 4, 8, 32}, {}};
  EXPECT_EQ(planConversion(lanes, turned, 6, 4).kind, Kind::Shuffles);
}

TEST(LayoutConversionTest, AccumulatorGoesToRowsByStmatrixInOneRound) {
  const LinearLayout accumulator = wgmmaAccumulator({128, 128}, 128, {8, 1, 1});
  const LinearLayout rows = blockedForAccess({128, 128}, {1, 0}, 8, 8);
  const ConversionPlan plan = planConversion(accumulator, rows, 14, 2);
  ASSERT_EQ(plan.kind, Kind::Shared);
  ASSERT_TRUE(plan.shared->matrixStore);
  EXPECT_EQ(plan.shared->matrixStore->matrices, 4);
  EXPECT_FALSE(plan.shared->matrixStore->transposed);
  EXPECT_EQ(plan.shared->load.vectorBytes, 16);
  EXPECT_EQ(plan.shared->rounds, 1);
  EXPECT_EQ(plan.sharedBytes(), 32768u);
  expectShared(*plan.shared, accumulator, rows, 14);
}

TEST(LayoutConversionTest, FragmentsComeInRegistersThatFollowEachOther) {
  // Warps along N have sums of eight columns each, so that a vector of both sides is of several
  // fragments.
  const LinearLayout sums = mmaAccumulator({64, 64}, 2, {2, 4, 1});
  const LinearLayout operand = mmaOperandA({64, 64}, 2, {2, 4, 1});
  ConversionOptions options;
  options.tupleWords = 4;
  const ConversionPlan plan = planConversion(sums, operand, 12, 2, options);
  ASSERT_EQ(plan.kind, Kind::Shared);
  ASSERT_TRUE(plan.shared->matrixLoad);
  for (const MatrixInstruction &instruction : plan.shared->matrixLoad->instructions)
    for (size_t i = 0; i < instruction.registers.size(); ++i)
      EXPECT_EQ(instruction.registers[i], instruction.registers[0] + i);
  EXPECT_FALSE(planConversion(sums, operand, 12, 2).shared->matrixLoad);
  expectShared(*plan.shared, sums, operand, 12);
}

TEST(LayoutConversionTest, OperandsComeFromRowsByWholeWords) {
  const LinearLayout rows = blockedForAccess({64, 128}, {1, 0}, 8, 4);
  const MmaWarps warps{2, 2, 1};
  for (const LinearLayout &operand :
       {mmaOperandA({64, 128}, 2, warps), mmaOperandB({64, 128}, 2, warps)}) {
    const ConversionPlan plan = planConversion(rows, operand, 13, 2);
    ASSERT_EQ(plan.kind, Kind::Shared);
    // ldmatrix.x4 or vectors of 16 bytes: both give a lane 16 bytes for four wavefronts.
    const int sixteens = operand.registerCount() * 2 / 16;
    EXPECT_TRUE(plan.shared->matrixLoad ? plan.shared->matrixLoad->matrices == 4
                                        : plan.shared->load.vectorBytes == 16);
    EXPECT_EQ(plan.shared->wavefronts(), 4 * sixteens + 4 * rows.registerCount() * 2 / 16);
    expectShared(*plan.shared, rows, operand, 13);
  }
}

TEST(LayoutConversionTest, LargeBlocksTakeRoundsOfWholeVectors) {
  const LinearLayout accumulator = wgmmaAccumulator({128, 256}, 256, {4, 1, 1});
  const LinearLayout rows = blockedForAccess({128, 256}, {1, 0}, 4, 4);
  ConversionOptions options;
  options.sharedLimitBytes = 40000;
  const SharedPlan plan = planShared(accumulator, rows, 15, 4, options);
  EXPECT_EQ(plan.roundBytes, 32768u);
  EXPECT_EQ(plan.rounds, 4);
  EXPECT_TRUE(plan.uniformRounds);
  expectShared(plan, accumulator, rows, 15);
}

TEST(LayoutConversionTest, RoundsMoveTheSameRegistersOfAllThreads) {
  // Of the two register bits that both have, one counts rounds: in a vector it would leave that to
  // a lane.
  const LinearLayout sums = wgmmaAccumulator({128, 128}, 128, {8, 1, 1});
  const LinearLayout rows = blockedForAccess({128, 128}, {1, 0}, 4, 8);
  ConversionOptions options;
  options.sharedLimitBytes = 32768;
  const SharedPlan plan = planShared(sums, rows, 14, 4, options);
  EXPECT_EQ(plan.rounds, 2);
  EXPECT_TRUE(plan.uniformRounds);
  EXPECT_EQ(plan.load.vectorBytes, 16);
  expectShared(plan, sums, rows, 14);
}

TEST(LayoutConversionTest, SlicesOfDotsBecomeRows) {
  // What a softmax does: the maximum of each row, from the accumulator to a plain vector and back.
  const ShapeBits shape({64, 64});
  const LinearLayout accumulator = mmaAccumulator({64, 64}, 2, {4, 1, 1});
  const LinearLayout rowMaximum = sliced(accumulator, shape, 1);
  const LinearLayout line = blockedForAccess({64}, {0}, 1, 4);
  for (const int bytes : {2, 4, 8}) {
    expectConverts(planConversion(rowMaximum, line, 6, bytes), rowMaximum, line);
    expectConverts(planConversion(line, rowMaximum, 6, bytes), line, rowMaximum);
  }
}

} // namespace
} // namespace blockscope::gpu
