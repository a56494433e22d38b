// An op that is added from a fixture goes all three ways: one kernel, written once in the rule
// book, runs op by op, runs as a flat program, and becomes PTX. tests/python/test_added_op.py runs
// the PTX.
#include "core/ir/ir_emitter.h"
#include "core/passes/passes.h"
#include "core/semantic/semantic.h"
#include "gpu_backend/compile.h"
#include "interpreter/flat/builder.h"
#include "interpreter/launch.h"
#include "interpreter/step_emitter.h"
#include "tests/unit/ir/midpoint_op.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

using namespace blockscope;

namespace {

constexpr int64_t kElements = 256;

std::vector<float> numbers(float scale) {
  std::vector<float> values(kElements);
  for (int64_t i = 0; i < kElements; ++i)
    values[i] = static_cast<float>(i % 37 - 11) * scale;
  return values;
}

class AddedOpTest : public testing::Test {
protected:
  static void SetUpTestSuite() { fixture::addMidpoint(); }

  /// out[i] = midpoint(x[i] + x[i], y[i]): its operand comes from a fused op.
  static void kernel(Semantic &semantic, llvm::ArrayRef<Value> arguments) {
    semantic.begin("kernel");
    const OpFacts *facts = findOpFacts("fixture.midpoint");
    ASSERT_TRUE(facts);
    const Value lanes = semantic.arange(0, kElements);
    const auto at = [&](const Value &pointer) {
      return semantic.binary(BinaryOp::Add, pointer, lanes);
    };
    const Value x = semantic.load(at(arguments[0]), {}), y = semantic.load(at(arguments[1]), {});
    const Value twice = semantic.binary(BinaryOp::Add, x, x);
    semantic.store(at(arguments[2]), semantic.elementwise(*facts, {twice, y}), {});
    ASSERT_FALSE(semantic.failed()) << semantic.error().message;
  }

  static void build(IrEmitter &emitter) {
    emitter.context().getOrLoadDialect<fixture::Dialect>();
    const Type pointer = Type::get(DType::Fp32).pointerTo();
    Semantic semantic(emitter);
    kernel(semantic, emitter.beginFunction("midpoints", {pointer, pointer, pointer},
                                           {"x_ptr", "y_ptr", "out_ptr"}));
    emitter.finishFunction();
    std::string errors;
    ASSERT_TRUE(emitter.verify(&errors) && runPasses(emitter, &errors)) << errors;
    ASSERT_NE(emitter.text().find("fixture.midpoint"), std::string::npos) << emitter.text();
  }

  static interpreter::DeviceAddress add(interpreter::LaunchState &launch,
                                        std::vector<float> &data) {
    interpreter::Allocation allocation;
    allocation.info.shape = {kElements};
    allocation.info.strides = {1};
    allocation.info.elementBytes = sizeof(float);
    allocation.info.storageBytes = allocation.storageBytes = kElements * 4;
    allocation.view = allocation.storage = reinterpret_cast<std::byte *>(data.data());
    return launch.memory.add(std::move(allocation)).base;
  }

  void expectMidpoints() {
    for (int64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(out[i], (x[i] + x[i] + y[i]) / 2) << "element " << i;
  }

  std::vector<float> x = numbers(0.25F), y = numbers(-3), out = std::vector<float>(kElements);
};

TEST_F(AddedOpTest, RunsStepByStep) {
  interpreter::LaunchState launch;
  interpreter::StepEmitter emitter(launch, [] { return SourceLocation{}; });
  ValueList arguments;
  for (std::vector<float> *data : {&x, &y, &out})
    arguments.push_back(
        emitter.scalarFromBits(Type::get(DType::Fp32).pointerTo(), add(launch, *data)));
  emitter.beginLaunch(/*hasAtomics=*/false);
  emitter.beginProgram({0, 0, 0});
  Semantic semantic(emitter);
  kernel(semantic, arguments);
  EXPECT_EQ(emitter.takeFailure(), "");
  emitter.endProgram();
  emitter.endLaunch();
  expectMidpoints();
}

TEST_F(AddedOpTest, RunsAsAFlatProgram) {
  IrEmitter emitter;
  build(emitter);
  std::string error;
  const interpreter::FlatProgram program = interpreter::buildFlatProgram(emitter, &error);
  ASSERT_EQ(error, "");
  interpreter::LaunchState launch;
  std::vector<interpreter::ArgumentValue> arguments;
  for (std::vector<float> *data : {&x, &y, &out})
    arguments.push_back({add(launch, *data)});
  EXPECT_TRUE(interpreter::launchFlat(program, launch, arguments, {}).errors.empty());
  expectMidpoints();
}

TEST_F(AddedOpTest, BecomesPtx) {
  const char *ptxas = std::getenv("BLOCKSCOPE_TEST_PTXAS");
  const char *file = std::getenv("BLOCKSCOPE_TEST_PTX");
  if (!ptxas || !file)
    GTEST_SKIP() << "run by tests/python/test_added_op.py, which knows where ptxas is";
  IrEmitter emitter;
  build(emitter);
  GpuOptions options;
  options.ptxasPath = ptxas;
  std::string error;
  const auto kernel = compileForGpu(emitter, *GpuTarget::parse("sm_80"), options, &error);
  ASSERT_TRUE(kernel) << error;
  EXPECT_FALSE(kernel->cubin.empty());
  EXPECT_EQ(kernel->warnings, std::vector<std::string>());
  std::ofstream(file) << kernel->ptx;
}

} // namespace
