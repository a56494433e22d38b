// Control flow of the flat program: loops, branches, carried values, combine regions.
#include "flat_kernel.h"

namespace blockscope::interpreter {
namespace {

// Stores %r (i32) to the one tensor argument.
std::string scalarKernel(const std::string &body) {
  return "func.func @k(%out: !tl.ptr<i32>, %n: i32) {\n"
         "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n"
         "  %c2 = arith.constant 2 : i32\n  %c3 = arith.constant 3 : i32\n" +
         body + "  tl.store %out, %r : !tl.ptr<i32>, i32\n  return\n}\n";
}

int32_t runScalar(const std::string &body, int32_t n) {
  int32_t first = 0;
  for (const bool coalesce : {true, false}) {
    std::vector<int32_t> out(1, -1);
    FlatKernel kernel(scalarKernel(body), {true, coalesce});
    EXPECT_EQ(kernel.error, "");
    kernel.tensor(out).scalar(n);
    const LaunchResult result = kernel.run({1, 1, 1});
    EXPECT_TRUE(result.succeeded());
    if (coalesce)
      first = out[0];
    else
      EXPECT_EQ(first, out[0]);
  }
  return first;
}

TEST(FlatControlTest, ForCountsAndCarries) {
  const std::string body = R"(
    %r = scf.for %i = %c0 to %n step %c2 iter_args(%sum = %c1) -> (i32) : i32 {
      %next = arith.addi %sum, %i : i32
      scf.yield %next : i32
    })";
  EXPECT_EQ(runScalar(body, 0), 1);
  EXPECT_EQ(runScalar(body, -5), 1);
  EXPECT_EQ(runScalar(body, 1), 1);
  EXPECT_EQ(runScalar(body, 7), 1 + 2 + 4 + 6);
}

TEST(FlatControlTest, CounterThatWouldWrapEnds) {
  EXPECT_EQ(runScalar(R"(
    %from = arith.constant 2147483640 : i32
    %to = arith.constant 2147483647 : i32
    %r = scf.for %i = %from to %to step %c3 iter_args(%k = %c0) -> (i32) : i32 {
      %next = arith.addi %k, %c1 : i32
      scf.yield %next : i32
    })",
                      0),
            3);
}

TEST(FlatControlTest, UnsignedForSeesLargeBounds) {
  EXPECT_EQ(runScalar(R"(
    %from = arith.constant 2147483646 : i32
    %to = arith.constant -2147483646 : i32
    %r = scf.for unsigned %i = %from to %to step %c1 iter_args(%k = %c0) -> (i32) : i32 {
      %next = arith.addi %k, %c1 : i32
      scf.yield %next : i32
    })",
                      0),
            4);
}

TEST(FlatControlTest, CarriedValuesSwapAndRotate) {
  const std::string body = R"(
    %x, %y, %z = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c1, %b = %c2, %c = %c3)
        -> (i32, i32, i32) : i32 {
      scf.yield %b, %c, %a : i32, i32, i32
    }
    %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (i32, i32) : i32 {
      scf.yield %b, %a : i32, i32
    }
    %ten = arith.constant 10 : i32
    %t0 = arith.muli %p, %ten : i32
    %t1 = arith.addi %t0, %q : i32
    %t2 = arith.muli %t1, %ten : i32
    %r = arith.addi %t2, %z : i32
    )";
  EXPECT_EQ(runScalar(body, 0), 123);
  EXPECT_EQ(runScalar(body, 1), 321);
  EXPECT_EQ(runScalar(body, 2), 312);
  EXPECT_EQ(runScalar(body, 3), 213);
}

TEST(FlatControlTest, OldValueIsUsedAfterTheNewOneIsMade) {
  EXPECT_EQ(runScalar(R"(
    %fib, %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c1, %b = %c0) -> (i32, i32) : i32 {
      %sum = arith.addi %a, %b : i32
      scf.yield %sum, %a : i32, i32
    })",
                      10),
            55);
}

TEST(FlatControlTest, WhileForwardsOtherValuesThanItCarries) {
  const std::string body = R"(
    %last, %r = scf.while (%v = %n, %steps = %c0) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi sgt, %v, %c1 : i32
      %twice = arith.muli %steps, %c2 : i32
      scf.condition(%more) %v, %twice : i32, i32
    } do {
    ^bb0(%w: i32, %t: i32):
      %half = arith.divsi %w, %c2 : i32
      %steps = arith.divsi %t, %c2 : i32
      %next = arith.addi %steps, %c1 : i32
      scf.yield %half, %next : i32, i32
    })";
  EXPECT_EQ(runScalar(body, 1), 0);
  EXPECT_EQ(runScalar(body, 100), 12);
}

TEST(FlatControlTest, NestedLoopsAndBranches) {
  // Counts pairs i < j with i + j even, and subtracts the others.
  const std::string body = R"(
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%outer = %c0) -> (i32) : i32 {
      %j0 = arith.addi %i, %c1 : i32
      %inner = scf.for %j = %j0 to %n step %c1 iter_args(%s = %outer) -> (i32) : i32 {
        %ij = arith.addi %i, %j : i32
        %bit = arith.andi %ij, %c1 : i32
        %odd = arith.cmpi eq, %bit, %c1 : i32
        %t = scf.if %odd -> (i32) {
          %less = arith.subi %s, %c1 : i32
          scf.yield %less : i32
        } else {
          %u = scf.if %odd -> (i32) {
            scf.yield %c0 : i32
          } else {
            %more = arith.addi %s, %c2 : i32
            scf.yield %more : i32
          }
          scf.yield %u : i32
        }
        scf.yield %t : i32
      }
      scf.yield %inner : i32
    })";
  int32_t expected = 0;
  for (int i = 0; i < 9; ++i)
    for (int j = i + 1; j < 9; ++j)
      expected += (i + j) % 2 ? -1 : 2;
  EXPECT_EQ(runScalar(body, 9), expected);
}

TEST(FlatControlTest, ZeroStepIsAnError) {
  std::vector<int32_t> out(1, 0);
  FlatKernel kernel(scalarKernel(R"(
    %r = scf.for %i = %c0 to %c3 step %n iter_args(%k = %c0) -> (i32) : i32 {
      scf.yield %k : i32
    })"));
  kernel.tensor(out).scalar(0);
  const LaunchResult result = kernel.run({1, 1, 1});
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message, "a loop from 0 to 3 with step 0 never ends");
}

TEST(FlatControlTest, BlocksAreCarriedThroughLoops) {
  const char *text = R"(
  func.func @k(%out: !tl.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %i = tl.range 0 to 256 : tensor<256xi32>
    %zero = arith.constant dense<0> : tensor<256xi32>
    %a, %b = scf.for %k = %c0 to %n step %c1 iter_args(%x = %i, %y = %zero)
        -> (tensor<256xi32>, tensor<256xi32>) : i32 {
      %s = arith.addi %x, %y : tensor<256xi32>
      %ks = tl.splat %k : i32 -> tensor<256xi32>
      %t = arith.addi %x, %ks : tensor<256xi32>
      scf.yield %s, %t : tensor<256xi32>, tensor<256xi32>
    }
    %d = arith.subi %a, %b : tensor<256xi32>
    %p = tl.splat %out : !tl.ptr<i32> -> tensor<256x!tl.ptr<i32>>
    %q = tl.addptr %p, %i : tensor<256x!tl.ptr<i32>>, tensor<256xi32>
    tl.store %q, %d : tensor<256x!tl.ptr<i32>>, tensor<256xi32>
    return
  })";
  for (const int n : {0, 1, 5})
    for (const FlatOptions options : {FlatOptions{true, true}, {false, true}, {true, false}}) {
      std::vector<int32_t> out(256, -1);
      FlatKernel kernel(text, options);
      ASSERT_EQ(kernel.error, "");
      kernel.tensor(out).scalar(n);
      EXPECT_TRUE(kernel.run({1, 1, 1}).succeeded());
      for (int32_t lane = 0; lane < 256; ++lane) {
        int32_t x = lane, y = 0;
        for (int k = 0; k < n; ++k) {
          const int32_t s = x + y, t = x + k;
          x = s;
          y = t;
        }
        ASSERT_EQ(out[lane], x - y) << lane;
      }
    }
}

// Reduces (value, index) pairs with a combine function of several ops, with and without branches.
std::string argMax(bool branches) {
  const std::string combine = branches ? R"(
      %v, %w = scf.if %gt -> (i32, i32) {
        scf.yield %a, %ai : i32, i32
      } else {
        scf.yield %b, %bi : i32, i32
      })"
                                       : R"(
      %v = arith.select %gt, %a, %b : i32
      %w = arith.select %gt, %ai, %bi : i32)";
  return R"(
  func.func @k(%out: !tl.ptr<i32>, %in: !tl.ptr<i32>) {
    %i = tl.range 0 to 2048 : tensor<2048xi32>
    %p = tl.splat %in : !tl.ptr<i32> -> tensor<2048x!tl.ptr<i32>>
    %q = tl.addptr %p, %i : tensor<2048x!tl.ptr<i32>>, tensor<2048xi32>
    %x = tl.load %q : tensor<2048x!tl.ptr<i32>> -> tensor<2048xi32>
    %m:2 = "tl.reduce"(%x, %i) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %ai: i32, %b: i32, %bi: i32):
      %limit = arith.constant 100000 : i32
      %small = arith.cmpi slt, %a, %limit : i32
      %more = arith.cmpi sgt, %a, %b : i32
      %gt = arith.andi %small, %more : i1
)" + combine +
         R"(
      tl.yield %v, %w : i32, i32
    }) : (tensor<2048xi32>, tensor<2048xi32>) -> (i32, i32)
    tl.store %out, %m#1 : !tl.ptr<i32>, i32
    return
  })";
}

TEST(FlatControlTest, CombineRegionsRunInLanesOrOneByOne) {
  for (const bool branches : {false, true}) {
    std::vector<int32_t> in(2048), out(1, -1);
    for (int i = 0; i < 2048; ++i)
      in[i] = (i * 7919) % 2039;
    FlatKernel kernel(argMax(branches));
    ASSERT_EQ(kernel.error, "");
    EXPECT_EQ(kernel.program.combines[0].program->lanes, branches ? 1 : 256);
    kernel.tensor(out).tensor(in);
    EXPECT_TRUE(kernel.run({1, 1, 1}).succeeded());
    EXPECT_EQ(in[out[0]], 2038);
  }
}

TEST(FlatControlTest, MissingEvaluatorNamesThePlace) {
  FlatKernel kernel(R"(
  func.func @k(%x: f32) {
    %y = tl.extern_elementwise "no_such_function" (%x) : (f32) -> f32 loc("add.py":9:5)
    return
  })");
  EXPECT_FALSE(kernel.program.isValid());
  EXPECT_TRUE(llvm::StringRef(kernel.error).starts_with("add.py:9:5: error: ")) << kernel.error;
}

} // namespace
} // namespace blockscope::interpreter
