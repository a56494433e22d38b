// Loads and stores: runs, masks, scattered lanes, refused lanes, what observers are told.
#include "tests/unit/memory/launch_fixture.h"

#include "interpreter/simd/isa.h"

#include <random>

using namespace blockscope;
using namespace blockscope::interpreter;
using blockscope::interpreter::testing::LaunchTest;

namespace {

std::vector<float> counted(int count) {
  std::vector<float> result(count);
  std::iota(result.begin(), result.end(), 1.0f);
  return result;
}

using AccessTest = LaunchTest;

TEST_F(AccessTest, ContiguousLoadAndStore) {
  std::vector<float> x = counted(64), y(64, 0);
  const Value xs = addTensor("x", x, DType::Fp32), ys = addTensor("y", y, DType::Fp32);
  const Value values = load(at(xs, iota(64)));
  store(at(ys, iota(64)), values);
  EXPECT_EQ(x, y);
  EXPECT_FALSE(launch.stop);
}

TEST_F(AccessTest, MaskedLanesGiveZeroOrOther) {
  std::vector<float> x = counted(8);
  const Value xs = addTensor("x", x, DType::Fp32);
  const std::vector<uint8_t> mask = {0, 0, 1, 1, 1, 1, 0, 0};
  EXPECT_EQ(valuesOf<float>(loadMasked(at(xs, iota(8)), mask)),
            (std::vector<float>{0, 0, 3, 4, 5, 6, 0, 0}));
  const Value other = block<float>(DType::Fp32, std::vector<float>(8, -1));
  const Value loaded = emit("tl.load", {at(xs, iota(8)), block(DType::Int1, mask), other},
                            Type::get(DType::Fp32, {8}), {{"has_mask", true}, {"has_other", true}});
  EXPECT_EQ(valuesOf<float>(loaded), (std::vector<float>{-1, -1, 3, 4, 5, 6, -1, -1}));
}

TEST_F(AccessTest, MaskedOffLanesMayPointAnywhere) {
  std::vector<float> x = counted(4);
  const Value xs = addTensor("x", x, DType::Fp32);
  const Value loaded = loadMasked(at(xs, {0, 1000000, 2, -5}), {1, 0, 1, 0});
  EXPECT_EQ(valuesOf<float>(loaded), (std::vector<float>{1, 0, 3, 0}));
  EXPECT_EQ(valuesOf<float>(loadMasked(at(xs, iota(4, 100)), {0, 0, 0, 0})),
            std::vector<float>(4, 0));
  EXPECT_FALSE(launch.stop);
}

TEST_F(AccessTest, StridedReversedAndBroadcastRuns) {
  std::vector<int16_t> x(256);
  std::iota(x.begin(), x.end(), 0);
  launch.observers.add(recorder);
  const Value xs = addTensor("x", x, DType::Int16);
  EXPECT_EQ(valuesOf<int16_t>(load(at(xs, iota(16, 3, 7))))[15], 3 + 15 * 7);
  EXPECT_EQ(valuesOf<int16_t>(load(at(xs, iota(16, 200, -3))))[15], 200 - 45);
  EXPECT_EQ(valuesOf<int16_t>(load(at(xs, std::vector<int32_t>(16, 9)))),
            std::vector<int16_t>(16, 9));
  ASSERT_EQ(recorder.accesses.size(), 3U);
  for (const auto &access : recorder.accesses)
    EXPECT_EQ(access.runs.size(), 1U);
  EXPECT_EQ(recorder.accesses[1].runs[0].strideBytes, -6);
  EXPECT_EQ(recorder.accesses[1].minOffset, 155 * 2);
  EXPECT_EQ(recorder.accesses[1].maxOffset, 200 * 2);
  EXPECT_EQ(recorder.accesses[2].runs[0].strideBytes, 0);
  EXPECT_EQ(recorder.accesses[0].line, 12);
}

TEST_F(AccessTest, TilesAreOneRunARow) {
  std::vector<float> x = counted(1024);
  launch.observers.add(recorder);
  const Value xs = addTensor("x", x, DType::Fp32);
  std::vector<int32_t> offsets;
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 16; ++column)
      offsets.push_back(row * 64 + column);
  const Value loaded = load(at(xs, offsets, {8, 16}));
  EXPECT_EQ(valuesOf<float>(loaded)[16 * 3 + 5], 3 * 64 + 5 + 1);
  EXPECT_EQ(recorder.accesses[0].runs.size(), 8U);
  EXPECT_EQ(recorder.accesses[0].activeLanes, 128);
}

TEST_F(AccessTest, TransposedTilesAreReadRowByRow) {
  std::vector<float> x = counted(4096);
  const Value xs = addTensor("x", x, DType::Fp32);
  for (const int columns : {8, 16, 32}) {
    std::vector<int32_t> offsets;
    for (int column = 0; column < columns; ++column)
      for (int row = 0; row < 32; ++row)
        offsets.push_back(row * 100 + column);
    const auto loaded = valuesOf<float>(load(at(xs, offsets, {columns, 32})));
    for (size_t i = 0; i < offsets.size(); ++i)
      EXPECT_EQ(loaded[i], x[offsets[i]]);
  }
}

TEST_F(AccessTest, RandomAccessesMatchAPlainLoopOnEveryInstructionSet) {
  std::mt19937 random(7);
  for (const Isa isa : {Isa::Baseline, Isa::Avx2, Isa::Avx512}) {
    setIsa(isa);
    for (int round = 0; round < 60; ++round) {
      std::vector<int64_t> x(500);
      std::iota(x.begin(), x.end(), 1000);
      LaunchState fresh;
      const Value xs = addTensor("x", x, DType::Int64);
      const int n = 1 << (random() % 9);
      std::vector<int32_t> offsets(n);
      std::vector<uint8_t> mask(n);
      const int style = static_cast<int>(random() % 3);
      for (int i = 0; i < n; ++i) {
        offsets[i] = style == 0   ? static_cast<int>(random() % 500)
                     : style == 1 ? i
                                  : (i / 8 * 16 + i % 8) % 500;
        mask[i] = style == 1 ? i < n / 2 : random() % 4 != 0;
      }
      const auto loaded = valuesOf<int64_t>(loadMasked(at(xs, offsets), mask));
      std::vector<int64_t> plain = x;
      std::vector<int64_t> values(n);
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(loaded[i], mask[i] ? x[offsets[i]] : 0);
        values[i] = -i;
        if (mask[i])
          plain[offsets[i]] = -i;
      }
      storeMasked(at(xs, offsets), block(DType::Int64, values), mask);
      EXPECT_EQ(x, plain);
    }
  }
  setIsa(bestIsa());
  EXPECT_FALSE(launch.stop);
}

TEST_F(AccessTest, OutOfBoundsEndsTheLaunchWithTheLine) {
  std::vector<float> x = counted(64);
  const Value xs = addTensor("x_ptr", x, DType::Fp32);
  const Value loaded = load(at(xs, iota(32, 48)));
  EXPECT_TRUE(launch.stop);
  ASSERT_EQ(launch.errors.size(), 1U);
  const Finding &error = launch.errors.front();
  EXPECT_EQ(error.code, FindingCode::OobLoad);
  EXPECT_EQ(error.message, "load of 4 bytes at byte 256 of 'x_ptr', which has 256 bytes");
  EXPECT_EQ(error.site.location.line, 12);
  EXPECT_EQ(error.site.execution->lane, 16);
  EXPECT_EQ(error.element->index, (std::vector<int64_t>{64}));
  EXPECT_EQ(error.element->distanceBytes, 4);
  EXPECT_EQ(valuesOf<float>(loaded)[15], 64);
  EXPECT_EQ(valuesOf<float>(loaded)[16], 0);
}

TEST_F(AccessTest, RefusedLanesThatAreTakenOverAreDroppedAndTheOthersGoOn) {
  std::vector<float> x(16, 0);
  launch.observers.add(recorder);
  const Value xs = addTensor("x", x, DType::Fp32);
  store(at(xs, iota(8, 12)), block(DType::Fp32, counted(8)));
  EXPECT_FALSE(launch.stop);
  ASSERT_EQ(recorder.refused.size(), 4U);
  EXPECT_EQ(recorder.refused[0].lane, 4);
  EXPECT_EQ(recorder.refused[0].reason, RefusedLane::Reason::OutOfStorage);
  EXPECT_EQ(x[15], 4);
  ASSERT_EQ(recorder.accesses.size(), 1U);
  EXPECT_EQ(recorder.accesses[0].activeLanes, 4);
  EXPECT_EQ(recorder.accesses[0].runs.size(), 1U);
  EXPECT_EQ(recorder.accesses[0].runs[0].count, 4);
  EXPECT_EQ(recorder.accesses[0].mask, (std::vector<uint8_t>{1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST_F(AccessTest, EveryReasonIsTold) {
  std::vector<int32_t> x(16, 5), fixed(16, 1);
  launch.observers.add(recorder);
  const Value xs = addTensor("x", x, DType::Int32);
  const Value ys = addTensor("fixed", fixed, DType::Int32);
  const_cast<Allocation &>(*launch.memory.arguments()[1]).readOnly = true;
  const Type pointers = Type::get(DType::Int32, {4}).pointerTo();
  const auto base = valuesOf<uint64_t>(xs)[0];
  std::shared_ptr<Block> odd = allocateBlock(pointers);
  const uint64_t addresses[4] = {0, 0x5000, base + 2, base + 4};
  std::memcpy(odd->data, addresses, sizeof(addresses));
  EXPECT_EQ(valuesOf<int32_t>(load({pointers, odd})), (std::vector<int32_t>{0, 0, 0, 5}));
  store(at(ys, {0}), block<int32_t>(DType::Int32, {7}));
  ASSERT_EQ(recorder.refused.size(), 4U);
  EXPECT_EQ(recorder.refused[0].reason, RefusedLane::Reason::Null);
  EXPECT_EQ(recorder.refused[1].reason, RefusedLane::Reason::Wild);
  EXPECT_EQ(recorder.refused[2].reason, RefusedLane::Reason::Misaligned);
  EXPECT_EQ(recorder.refused[3].reason, RefusedLane::Reason::ReadOnly);
  EXPECT_EQ(fixed[0], 1);
}

TEST_F(AccessTest, LanesOfTwoTensorsAreAttributedOneByOne) {
  std::vector<float> x = counted(8), y(8, 100);
  launch.observers.add(recorder);
  const Value xs = addTensor("x", x, DType::Fp32), ys = addTensor("y", y, DType::Fp32);
  const Type pointers = Type::get(DType::Fp32, {4}).pointerTo();
  const auto first = valuesOf<uint64_t>(at(xs, {0, 1, 2, 3}));
  const auto second = valuesOf<uint64_t>(at(ys, {0, 1, 2, 9}));
  std::shared_ptr<Block> mixed = allocateBlock(pointers);
  const uint64_t addresses[4] = {first[0], second[1], first[2], second[3]};
  std::memcpy(mixed->data, addresses, sizeof(addresses));
  EXPECT_EQ(valuesOf<float>(load({pointers, mixed})), (std::vector<float>{1, 100, 3, 0}));
  ASSERT_EQ(recorder.refused.size(), 1U);
  EXPECT_EQ(recorder.refused[0].allocation->info.name, "y");
  EXPECT_EQ(recorder.accesses[0].allocation, "");
}

TEST_F(AccessTest, HostAddressesLoadedFromMemory) {
  std::vector<float> x = counted(16);
  std::vector<int64_t> table = {reinterpret_cast<int64_t>(x.data())};
  launch.memory.setHostResolver([&](uint64_t) -> std::optional<Allocation> {
    Allocation allocation;
    allocation.info.name = "found";
    allocation.info.shape = {16};
    allocation.info.strides = {1};
    allocation.info.elementBytes = 4;
    allocation.storage = allocation.view = reinterpret_cast<std::byte *>(x.data());
    allocation.storageBytes = 64;
    return allocation;
  });
  const Value tables = addTensor("table", table, DType::Int64);
  const Value address = load(tables);
  const Value pointer = emit("tl.int_to_ptr", {address}, Type::get(DType::Fp32).pointerTo());
  EXPECT_EQ(valuesOf<float>(load(at(pointer, iota(16)))), x);
  EXPECT_FALSE(launch.stop);
  load(at(pointer, iota(16, 8)));
  EXPECT_TRUE(launch.stop);
}

TEST_F(AccessTest, VolatileLoadSpinsWhenItSeesTheSame) {
  std::vector<int32_t> flag(1, 0);
  const Value flags = addTensor("flag", flag, DType::Int32);
  const Attributes isVolatile = {{"is_volatile", true}};
  load(flags, isVolatile);
  EXPECT_FALSE(emitter.context().spinning);
  load(flags, isVolatile);
  EXPECT_TRUE(emitter.context().spinning);
  flag[0] = 1;
  load(flags, isVolatile);
  EXPECT_FALSE(emitter.context().spinning);
}

TEST_F(AccessTest, OffsetsAreSignedUnsignedOrWide) {
  std::vector<int8_t> x(8, 0);
  const Value xs = addTensor("x", x, DType::Fp32);
  const Type pointer = xs.type;
  const auto base = valuesOf<uint64_t>(xs)[0];
  const auto offsetBy = [&](DType dtype, int64_t offset, bool isUnsigned) {
    const Value value = emitter.intConstant(Type::get(dtype), offset);
    return static_cast<int64_t>(valuesOf<uint64_t>(emit("tl.addptr", {xs, value}, pointer,
                                                        {{"is_unsigned", isUnsigned}}))[0] -
                                base);
  };
  EXPECT_EQ(offsetBy(DType::Int32, -2, false), -8);
  EXPECT_EQ(offsetBy(DType::Int32, -2, true), 4 * 0xfffffffeLL);
  EXPECT_EQ(offsetBy(DType::Int64, -3, false), -12);
}

} // namespace
