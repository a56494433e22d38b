// Plans of loops are made without a change of the IR, and ask the target what it can do.
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/pipelining/plan.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace blockscope::gpu {
namespace {

constexpr llvm::StringLiteral kLoop = R"(
func.func @sum(%x: !tl.ptr<f32> {tl.divisibility = 16 : i32}, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tl.range 0 to 1024 : tensor<1024xi32>
  %base = tl.splat %x : !tl.ptr<f32> -> tensor<1024x!tl.ptr<f32>>
  %at = tl.addptr %base, %range : tensor<1024x!tl.ptr<f32>>, tensor<1024xi32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %none) -> (tensor<1024xf32>) : i32 {
    %v = tl.load %at : tensor<1024x!tl.ptr<f32>> -> tensor<1024xf32>
    %next = arith.addf %s, %v : tensor<1024xf32>
    scf.yield %next : tensor<1024xf32>
  } {tl.num_stages = 3 : i32}
  tl.store %at, %sum : tensor<1024x!tl.ptr<f32>>, tensor<1024xf32>
  return
}
)";

class PipelinePlanTest : public testing::Test {
protected:
  PipelinePlanTest() : context_(mlir::MLIRContext::Threading::DISABLED) {
    tl::loadDialects(context_);
    context_.loadDialect<tlg::TLGDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(kLoop, &context_);
    EXPECT_TRUE(succeeded(assignLayouts(function(), target_, GpuOptions())));
  }

  mlir::func::FuncOp function() { return *module_->getOps<mlir::func::FuncOp>().begin(); }
  std::string printed() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream);
    return text;
  }

  GpuTarget target_ = *GpuTarget::parse("sm_80");
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(PipelinePlanTest, ChangesNothing) {
  const std::string before = printed();
  const PipelinePlan plan = planPipelines(function(), target_, {});
  EXPECT_EQ(printed(), before);
  ASSERT_EQ(plan.loops.size(), 1U);
  const LoopPlan &loop = plan.loops[0];
  ASSERT_TRUE(loop.isPipelined());
  ASSERT_EQ(loop.rings.size(), 1U);
  EXPECT_EQ(loop.rings[0].buffers, 3);
  EXPECT_EQ(loop.rings[0].ahead, 2);
  EXPECT_EQ(loop.rings[0].sync, RingSync::CtaBarrier);
  ASSERT_EQ(loop.loads.size(), 1U);
  EXPECT_EQ(loop.loads[0].copy, CopyKind::CpAsync);
  EXPECT_EQ(loop.loads[0].ring, 0);
  EXPECT_FALSE(loop.loads[0].feedsDot);
  EXPECT_TRUE(succeeded(writePipelines(function(), plan)));
  EXPECT_NE(printed().find("tlg.async_copy"), std::string::npos);
}

TEST_F(PipelinePlanTest, WithoutAsynchronousCopiesLoadsStay) {
  target_.hasCpAsync = false;
  const PipelinePlan plan = planPipelines(function(), target_, {});
  ASSERT_EQ(plan.loops.size(), 1U);
  EXPECT_FALSE(plan.loops[0].isPipelined());
  EXPECT_NE(text(plan).find("in its iteration: the target has no asynchronous copies"),
            std::string::npos);
  const std::string before = printed();
  EXPECT_TRUE(succeeded(writePipelines(function(), plan)));
  EXPECT_EQ(printed(), before);
}

} // namespace
} // namespace blockscope::gpu
