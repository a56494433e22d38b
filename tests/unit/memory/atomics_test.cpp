// Atomics: every kind and type, lane order, masks, what the scheduler and observers learn.
#include "tests/unit/memory/launch_fixture.h"

#include <cmath>

using namespace blockscope;
using namespace blockscope::interpreter;
using blockscope::interpreter::testing::LaunchTest;

namespace {

struct AtomicTest : LaunchTest {
  Value rmw(llvm::StringRef kind, const Value &pointers, const Value &values,
            std::vector<uint8_t> mask = {}, llvm::StringRef sem = "acq_rel",
            llvm::StringRef scope = "gpu") {
    llvm::SmallVector<Value, 3> operands = {pointers, values};
    if (!mask.empty())
      operands.push_back(block(DType::Int1, mask));
    return emit("tl.atomic_rmw", operands, pointers.type.pointee(),
                {{"kind", kind.str()}, {"sem", sem.str()}, {"scope", scope.str()}});
  }
  template <typename T> T once(llvm::StringRef kind, DType dtype, T start, T operand) {
    std::vector<T> memory = {start};
    const Value pointer = addTensor("m", memory, dtype);
    const Value old = rmw(kind, at(pointer, {0}), block<T>(dtype, {operand}));
    EXPECT_EQ(valuesOf<T>(old)[0], start);
    return memory[0];
  }
};

TEST_F(AtomicTest, IntegersOfEveryWidth) {
  EXPECT_EQ(once<int32_t>("add", DType::Int32, 5, -7), -2);
  EXPECT_EQ(once<int64_t>("add", DType::Int64, 1LL << 40, 1), (1LL << 40) + 1);
  EXPECT_EQ(once<int8_t>("add", DType::Int8, 127, 1), -128);
  EXPECT_EQ(once<int16_t>("xchg", DType::Int16, 3, 9), 9);
  EXPECT_EQ(once<int32_t>("max", DType::Int32, -5, 3), 3);
  EXPECT_EQ(once<int32_t>("umax", DType::Int32, -5, 3), -5);
  EXPECT_EQ(once<int32_t>("min", DType::Int32, -5, 3), -5);
  EXPECT_EQ(once<int32_t>("umin", DType::Int32, -5, 3), 3);
  EXPECT_EQ(once<int32_t>("and", DType::Int32, 6, 3), 2);
  EXPECT_EQ(once<int64_t>("or", DType::Int64, 6, 3), 7);
  EXPECT_EQ(once<int8_t>("xor", DType::Int8, 6, 3), 5);
}

TEST_F(AtomicTest, FloatsOfEveryWidth) {
  EXPECT_EQ(once<float>("fadd", DType::Fp32, 0.5f, 0.25f), 0.75f);
  EXPECT_EQ(once<double>("fadd", DType::Fp64, 0.5, 0.25), 0.75);
  EXPECT_EQ(once<uint16_t>("fadd", DType::Fp16, 0x3c00, 0x3c00), 0x4000);
  EXPECT_EQ(once<uint16_t>("fadd", DType::Bf16, 0x3f80, 0x3f80), 0x4000);
  EXPECT_EQ(once<float>("fmax", DType::Fp32, -1.0f, -2.0f), -1.0f);
  EXPECT_EQ(once<float>("fmin", DType::Fp32, -1.0f, -2.0f), -2.0f);
  EXPECT_EQ(once<float>("fmax", DType::Fp32, 1.0f, NAN), 1.0f);
  EXPECT_EQ(once<float>("xchg", DType::Fp32, 1.0f, 4.0f), 4.0f);
}

TEST_F(AtomicTest, LanesGoInOrderOverDuplicateAddresses) {
  std::vector<int32_t> memory(2, 0);
  const Value pointer = addTensor("m", memory, DType::Int32);
  const Value old = rmw("add", at(pointer, {0, 0, 1, 0}),
                        block<int32_t>(DType::Int32, {1, 2, 3, 4}), {1, 1, 1, 0});
  EXPECT_EQ(memory, (std::vector<int32_t>{3, 3}));
  EXPECT_EQ(valuesOf<int32_t>(old), (std::vector<int32_t>{0, 1, 0, 0}));
}

TEST_F(AtomicTest, CompareAndSwapSpinsOnlyWhenItKeepsFailing) {
  std::vector<int32_t> lock(1, 1);
  const Value pointer = addTensor("lock", lock, DType::Int32);
  const Value zero = emitter.intConstant(Type::get(DType::Int32), 0);
  const Value one = emitter.intConstant(Type::get(DType::Int32), 1);
  launch.info.hasAtomics = launch.info.countsChanges = true;
  const auto tryLock = [&] {
    return valuesOf<int32_t>(
        emit("tl.atomic_cas", {pointer, zero, one}, Type::get(DType::Int32),
             {{"sem", std::string("acquire")}, {"scope", std::string("gpu")}}))[0];
  };
  EXPECT_EQ(tryLock(), 1);
  EXPECT_FALSE(emitter.context().spinning);
  EXPECT_EQ(tryLock(), 1);
  EXPECT_TRUE(emitter.context().spinning);
  EXPECT_EQ(launch.progress, 0U);
  lock[0] = 0;
  EXPECT_EQ(tryLock(), 0);
  EXPECT_FALSE(emitter.context().spinning);
  EXPECT_EQ(lock[0], 1);
  EXPECT_EQ(launch.progress, 1U);
}

TEST_F(AtomicTest, ObserversLearnOrderAndScope) {
  std::vector<int32_t> memory(4, 0);
  launch.observers.add(recorder);
  const Value pointer = addTensor("m", memory, DType::Int32);
  rmw("add", at(pointer, {0}), block<int32_t>(DType::Int32, {1}), {}, "release", "cta");
  ASSERT_EQ(recorder.accesses.size(), 1U);
  EXPECT_EQ(recorder.accesses[0].kind, AccessKind::AtomicRmw);
  EXPECT_EQ(recorder.accesses[0].semantics, AtomicSemantics::Release);
  EXPECT_EQ(recorder.accesses[0].scope, AtomicScope::Cta);
  rmw("add", at(pointer, {3, 4}), block<int32_t>(DType::Int32, {1, 1}));
  EXPECT_EQ(recorder.refused.size(), 1U);
  EXPECT_EQ(memory[3], 1);
}

TEST_F(AtomicTest, UnsupportedKindsSayWhat) {
  std::vector<uint8_t> memory(4, 0);
  const Value pointer = addTensor("m", memory, DType::Fp8E5M2);
  emitter.emit({"tl.atomic_rmw",
                {pointer, block<uint8_t>(DType::Fp8E5M2, {1})},
                {{"kind", std::string("fadd")}},
                {Type::get(DType::Fp8E5M2)}});
  EXPECT_EQ(emitter.takeFailure(), "tl.atomic_rmw 'fadd' of fp8e5 is not supported");
}

} // namespace
