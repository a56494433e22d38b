// device_assert and device_print.
#include "tests/unit/memory/launch_fixture.h"

using namespace blockscope;
using namespace blockscope::interpreter;
using blockscope::interpreter::testing::LaunchTest;

namespace {

struct DebugTest : LaunchTest {
  void assertThat(const std::vector<uint8_t> &condition, std::vector<uint8_t> mask = {}) {
    llvm::SmallVector<Value, 2> operands = {block(DType::Int1, condition)};
    if (!mask.empty())
      operands.push_back(block(DType::Int1, mask));
    const Attributes attributes = {{"message", std::string("x is small")},
                                   {"has_mask", !mask.empty()}};
    emitter.emit({"tl.assert", operands, attributes, {}});
  }
  std::string print(llvm::StringRef prefix, llvm::ArrayRef<Value> values, bool hex = false,
                    std::vector<int64_t> isSigned = {}) {
    printed.clear();
    isSigned.resize(values.size(), 1);
    emitter.emit({"tl.print",
                  values,
                  {{"prefix", prefix.str()}, {"hex", hex}, {"is_signed", isSigned}},
                  {}});
    EXPECT_EQ(emitter.takeFailure(), "");
    return printed;
  }
};

TEST_F(DebugTest, AssertsAreOffUnlessEnabled) {
  assertThat({0});
  EXPECT_TRUE(launch.errors.empty());
  launch.assertsEnabled = true;
  assertThat({1, 1});
  assertThat({1, 0}, {1, 0});
  EXPECT_TRUE(launch.errors.empty());
  assertThat({1, 0, 0, 1});
  ASSERT_EQ(launch.errors.size(), 1U);
  EXPECT_TRUE(launch.stop);
  EXPECT_EQ(launch.errors[0].code, FindingCode::DeviceAssert);
  EXPECT_EQ(launch.errors[0].message, "device-side assert failed: x is small");
  EXPECT_EQ(launch.errors[0].site.execution->lane, 1);
  EXPECT_EQ(launch.errors[0].site.location.line, 12);
}

TEST_F(DebugTest, AssertsShowWhatWasCompared) {
  launch.assertsEnabled = true;
  const Value x = block(DType::Int32, std::vector<int32_t>{1, -7});
  const Value limit = block(DType::Int32, std::vector<int32_t>{0, 0});
  const Value isPositive =
      emit("arith.cmpi", {x, limit}, Type::get(DType::Int1, {2}), {{"predicate", int64_t{4}}});
  emitter.emit({"tl.assert", {isPositive}, {{"message", std::string()}}, {}});
  ASSERT_EQ(launch.errors.size(), 1U);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"left", "-7"}, {"right", "0"}, {"failed lanes", "1"}};
  EXPECT_EQ(launch.errors[0].values, expected);
}

TEST_F(DebugTest, ObserversGetFailedLanes) {
  launch.assertsEnabled = true;
  launch.observers.add(recorder);
  assertThat({1, 0, 0, 1});
  EXPECT_EQ(recorder.failedAsserts, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(launch.stop);
}

TEST_F(DebugTest, BarrierReachesObservers) {
  launch.observers.add(recorder);
  emitter.emit({"tl.barrier", {}, {}, {}});
  EXPECT_EQ(recorder.barriers, 1);
}

TEST_F(DebugTest, PrintsOneLineAnElement) {
  std::vector<int32_t> values(12);
  std::iota(values.begin(), values.end(), -1);
  const std::string text = print(" x: ", {block(DType::Int32, values, {12})});
  EXPECT_EQ(text.substr(0, text.find('\n')), "pid (0, 0, 0) idx ( 0) x: -1");
  EXPECT_NE(text.find("pid (0, 0, 0) idx (11) x: 10\n"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
}

TEST_F(DebugTest, PrintsScalarsOperandsAndNothing) {
  emitter.beginProgram({3, 1, 0});
  const Value i = emitter.intConstant(Type::get(DType::Int32), 7);
  const Value f = emitter.floatConstant(Type::get(DType::Fp16), 1.5);
  EXPECT_EQ(print(" v: ", {i}), "pid (3, 1, 0) idx () v: 7\n");
  EXPECT_EQ(
      print(" v: ", {i, f}),
      "pid (3, 1, 0) idx () v: (operand 0) 7\npid (3, 1, 0) idx () v: (operand 1) 1.500000\n");
  EXPECT_EQ(print("here", {}), "pid (3, 1, 0) here\n");
}

TEST_F(DebugTest, PrintsEveryKindOfNumber) {
  const auto constant = [&](DType dtype, int64_t value) {
    return emitter.intConstant(Type::get(dtype), value);
  };
  EXPECT_EQ(print(" x: ", {constant(DType::Int8, -1)}, false, {0}),
            "pid (0, 0, 0) idx () x: 255\n");
  EXPECT_EQ(print(" x: ", {constant(DType::Int8, -1)}, true), "pid (0, 0, 0) idx () x: 0xff\n");
  EXPECT_EQ(print(" x: ", {constant(DType::Int64, -2)}, true),
            "pid (0, 0, 0) idx () x: 0xfffffffffffffffe\n");
  EXPECT_EQ(print(" x: ", {constant(DType::Int1, 1)}), "pid (0, 0, 0) idx () x: 1\n");
  EXPECT_EQ(print(" x: ", {emitter.floatConstant(Type::get(DType::Bf16), -0.5)}),
            "pid (0, 0, 0) idx () x: -0.500000\n");
  EXPECT_EQ(print(" x: ", {emitter.floatConstant(Type::get(DType::Fp8E4M3NV), 2)}),
            "pid (0, 0, 0) idx () x: 2.000000\n");
}

} // namespace
