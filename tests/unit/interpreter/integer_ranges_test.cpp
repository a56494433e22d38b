// Intervals of the integers of a kernel: what is proved to stay in its type, and what is not.
#include "flat_kernel.h"

#include "interpreter/integer_ranges.h"

namespace blockscope::interpreter {
namespace {

/// What is known of a kernel before its launch.
RangeVerdict decide(const std::string &body, std::vector<uint64_t> arguments,
                    std::array<int32_t, 3> grid = {4, 1, 1}) {
  const FlatKernel kernel("func.func @k(%x: !tl.ptr<f32>, %n: i32, %m: i32) {\n" + body +
                              "  return\n}",
                          {.values = true});
  EXPECT_TRUE(kernel.program.ranges);
  arguments.insert(arguments.begin(), 0);
  LaunchInfo launch;
  launch.grid = grid;
  launch.arguments = arguments;
  return kernel.program.ranges->decide(launch);
}

constexpr const char *kProduct = R"(
  %me = tl.program_id 0 : i32
  %i = arith.muli %me, %n : i32
  %p = tl.addptr %x, %i : !tl.ptr<f32>, i32
  %v = tl.load %p : !tl.ptr<f32> -> f32
  tl.store %p, %v : !tl.ptr<f32>, f32
)";

TEST(IntegerRangesTest, AProductIsInItsTypeUpToTheLastProgram) {
  EXPECT_FALSE(decide(kProduct, {2147483647U / 3, 0}).mayWrap);
  EXPECT_TRUE(decide(kProduct, {2147483647U / 3 + 1, 0}).mayWrap);
  EXPECT_FALSE(decide(kProduct, {0x80000000U + 2, 0}, {1, 1, 1}).mayWrap); // of program 0
}

TEST(IntegerRangesTest, TheGridIsFoundFromWhichOnAProductWraps) {
  const FlatKernel kernel(std::string("func.func @k(%x: !tl.ptr<f32>, %n: i32) {\n") + kProduct +
                              "  return\n}",
                          {.values = true});
  const uint64_t arguments[] = {0, 50'000};
  LaunchInfo launch;
  launch.grid = {2, 1, 1};
  launch.arguments = arguments;
  const auto limits = kernel.program.ranges->limits(launch, 2);
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].programs, 2147483647 / 50'000 + 2); // program numbers begin with 0
  EXPECT_EQ(limits[0].axis, 0);
  EXPECT_TRUE(kernel.program.ranges->limits(launch, 50'001).empty());
}

constexpr const char *kLoop = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = scf.for %k = %c0 to %n step %c1 iter_args(%at = %c0) -> (i32) : i32 {
    %next = arith.addi %at, %m : i32
    scf.yield %next : i32
  }
  %p = tl.addptr %x, %end : !tl.ptr<f32>, i32
  %v = tl.load %p : !tl.ptr<f32> -> f32
  tl.store %p, %v : !tl.ptr<f32>, f32
)";

TEST(IntegerRangesTest, WhatALoopAddsIsMultipliedByItsIterations) {
  EXPECT_FALSE(decide(kLoop, {1000, 2'000'000}).mayWrap);
  EXPECT_TRUE(decide(kLoop, {1000, 2'200'000}).mayWrap);
  EXPECT_FALSE(decide(kLoop, {0, 2'200'000}).mayWrap); // no iteration
}

constexpr const char *kDivision = R"(
  %me = tl.program_id 0 : i32
  %shifted = arith.addi %me, %n : i32
  %i = arith.remsi %m, %shifted : i32
  %p = tl.addptr %x, %i : !tl.ptr<f32>, i32
  %v = tl.load %p : !tl.ptr<f32> -> f32
  tl.store %p, %v : !tl.ptr<f32>, f32
)";

TEST(IntegerRangesTest, ADivisorThatMayBe0) {
  EXPECT_FALSE(decide(kDivision, {1, 7}).mayFail);
  EXPECT_TRUE(decide(kDivision, {0, 7}).mayFail);
  EXPECT_TRUE(decide(kDivision, {static_cast<uint32_t>(-2), 7}).mayFail);
  EXPECT_FALSE(decide(kDivision, {static_cast<uint32_t>(-9), 7}).mayFail);
}

} // namespace
} // namespace blockscope::interpreter
