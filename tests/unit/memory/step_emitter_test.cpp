// The step emitter runs ops at once, reduces with any combine, and is quick about it.
#include "tests/unit/memory/launch_fixture.h"

#include <chrono>

using namespace blockscope;
using namespace blockscope::interpreter;
using blockscope::interpreter::testing::LaunchTest;

namespace {

using StepEmitterTest = LaunchTest;

TEST_F(StepEmitterTest, ProgramIdsFollowTheGrid) {
  launch.info.grid = {4, 3, 2};
  emitter.beginProgram({3, 2, 1});
  EXPECT_EQ(emitter.context().linearProgram, 3 + 4 * (2 + 3 * 1));
  for (int axis = 0; axis < 3; ++axis) {
    const Attributes attributes = {{"axis", int64_t{axis}}};
    EXPECT_EQ(valuesOf<int32_t>(emit("tl.program_id", {}, Type::get(DType::Int32), attributes))[0],
              3 - axis);
    EXPECT_EQ(
        valuesOf<int32_t>(emit("tl.num_programs", {}, Type::get(DType::Int32), attributes))[0],
        4 - axis);
  }
}

TEST_F(StepEmitterTest, ReduceAndScanWithACombineFunction) {
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 0.0f);
  const Value x = block(DType::Fp32, values, {4, 8});
  const auto add = [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    return ValueList{emit("arith.addf", {lhs[0], rhs[0]}, lhs[0].type)};
  };
  const Value rows = emitter.reduce({x}, 1, add)[0];
  EXPECT_EQ(valuesOf<float>(rows), (std::vector<float>{28, 92, 156, 220}));
  const Value columns = emitter.scan({x}, 0, false, add)[0];
  EXPECT_EQ(valuesOf<float>(columns)[31], 7 + 15 + 23 + 31);
}

TEST_F(StepEmitterTest, WrongCombineIsReported) {
  const Value x = block(DType::Fp32, std::vector<float>(8, 1));
  const ValueList result =
      emitter.reduce({x}, 0, [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value>) {
        return ValueList{emit("tl.bitcast", {lhs[0]}, Type::get(DType::Int32, lhs[0].type.shape))};
      });
  EXPECT_FALSE(result[0]);
  EXPECT_EQ(emitter.takeFailure(),
            "the combine function gives <['4'], int32>, expected <['4'], fp32>");
}

TEST_F(StepEmitterTest, UnknownOpsFailInWords) {
  emitter.emit({"tl.nonsense", {}, {}, {Type::get(DType::Int32)}});
  EXPECT_NE(emitter.takeFailure().find("tl.nonsense"), std::string::npos);
}

TEST_F(StepEmitterTest, ConstantsRoundOnceAndWrap) {
  EXPECT_EQ(valuesOf<uint16_t>(emitter.floatConstant(Type::get(DType::Fp16), 65504.0))[0], 0x7bff);
  EXPECT_EQ(valuesOf<int8_t>(emitter.intConstant(Type::get(DType::Int8), -3))[0], -3);
  EXPECT_EQ(valuesOf<uint8_t>(emitter.intConstant(Type::get(DType::Int1), -1))[0], 1);
}

/// Remembers ops and the first element of each result.
struct ShownOps : Observer {
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.values = true;
    return plan;
  }
  void onValues(const OpValues &values) override {
    int32_t first = 0;
    for (const ValueView &result : values.results)
      std::memcpy(&first, result.data, sizeof first);
    shown.push_back(values.op->name + " x" + std::to_string(values.count) + " = " +
                    std::to_string(first));
    line = values.op->location.line;
  }
  void onDecision(const ValueDecision &decision) override {
    shown.push_back(decision.op->name + " decides by " +
                    std::to_string(*static_cast<const int32_t *>(decision.values[0].data)));
  }
  std::vector<std::string> shown;
  int32_t line = 0;
};

TEST_F(StepEmitterTest, ObserversOfValuesSeeEveryOpOnce) {
  ShownOps observer;
  launch.observers.add(observer);
  const Value x = block(DType::Int32, iota(8, 5));
  const Value seven = emitter.intConstant(Type::get(DType::Int32), 7);
  const Value sevens = emit("tl.splat", {seven}, x.type);
  const Value sum = emit("arith.addi", {x, sevens}, x.type);
  const auto add = [&](llvm::ArrayRef<Value> lhs, llvm::ArrayRef<Value> rhs) {
    return ValueList{emit("arith.addi", {lhs[0], rhs[0]}, lhs[0].type)};
  };
  const Value total = emitter.reduce({sum}, 0, add)[0];
  emitter.reduceByOp("arith.addi", x, 0);
  emitter.noteDecision(total);
  EXPECT_EQ(observer.shown,
            (std::vector<std::string>{"arith.constant x1 = 7", "tl.splat x8 = 7",
                                      "arith.addi x8 = 12", "tl.reduce x1 = 124",
                                      "tl.reduce x1 = 68", "python decides by 124"}));
  EXPECT_EQ(observer.line, 12);
}

TEST_F(StepEmitterTest, NobodyIsShownValuesUnasked) {
  struct Plain : ShownOps {
    ObserverPlan plan() const override { return {}; }
  } observer;
  launch.observers.add(observer);
  emit("arith.addi", {block(DType::Int32, iota(8)), block(DType::Int32, iota(8))},
       Type::get(DType::Int32, {8}));
  EXPECT_TRUE(observer.shown.empty());
}

TEST_F(StepEmitterTest, AnOpCostsLittleBesideItsWork) {
  const Value x = block(DType::Fp32, std::vector<float>(16, 1));
  const Type type = x.type;
  const Attributes none;
  constexpr int kRounds = 20000;
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i)
      emitter.emit({"arith.addf", {x, x}, none, {type}});
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, elapsed.count() / kRounds);
  }
  RecordProperty("nsPerOp", static_cast<int>(best));
  EXPECT_LT(best, 5000); // 200 to 400 ns on an idle machine; the limit only finds disasters
}

} // namespace
