// Launches that an observer wants done again: from the same memory, in order, only where programs
// do not wait for one another.
#include "flat_kernel.h"

#include <mutex>
#include <numeric>

namespace blockscope::interpreter {
namespace {

// x[i] += 1 in place, for 256 elements a program, and an atomic count of programs.
constexpr const char *kInPlace = R"(
func.func @add(%x: !tl.ptr<i32>, %count: !tl.ptr<i32>, %out: !tl.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %ones = arith.constant dense<1> : tensor<256xi32>
  %c256 = arith.constant 256 : i32
  %me = tl.program_id 0 : i32
  %first = arith.muli %me, %c256 : i32
  %firsts = tl.splat %first : i32 -> tensor<256xi32>
  %lanes = tl.range 0 to 256 : tensor<256xi32>
  %i = arith.addi %firsts, %lanes : tensor<256xi32>
  %xs = tl.splat %x : !tl.ptr<i32> -> tensor<256x!tl.ptr<i32>>
  %xp = tl.addptr %xs, %i : tensor<256x!tl.ptr<i32>>, tensor<256xi32>
  %v = tl.load %xp : tensor<256x!tl.ptr<i32>> -> tensor<256xi32>
  %w = arith.addi %v, %ones : tensor<256xi32>
  tl.store %xp, %w : tensor<256x!tl.ptr<i32>>, tensor<256xi32>
  %old = tl.atomic_rmw "add" %count, %c1 : !tl.ptr<i32>, i32 -> i32
  %mine = tl.addptr %out, %me : !tl.ptr<i32>, i32
  tl.store %mine, %me : !tl.ptr<i32>, i32
  return
})";

/// Is never content with the first run.
class Doubter : public Observer {
public:
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.repeat = ObserverPlan::Repeat::Asks;
    return plan;
  }
  bool mustRepeat() override { return true; }
  void onLaunchRepeat() override {
    ++repeats;
    begun.clear();
  }
  void onProgramBegin(int64_t program, int) override {
    const std::lock_guard lock(mutex_);
    begun.push_back(program);
  }
  int repeats = 0;
  std::vector<int64_t> begun;

private:
  std::mutex mutex_;
};

TEST(RepeatTest, ASecondRunBeginsWithTheSameMemory) {
  for (const int threads : {1, 8}) {
    std::vector<int32_t> x(256 * 400), count(1, 7), out(400, -1);
    std::iota(x.begin(), x.end(), 5);
    FlatKernel kernel(kInPlace);
    ASSERT_EQ(kernel.error, "");
    kernel.tensor(x).tensor(count).tensor(out);
    Doubter observer;
    EXPECT_TRUE(kernel.run({400, 1, 1}, threads, {}, &observer).succeeded());
    EXPECT_EQ(observer.repeats, 1);
    std::vector<int64_t> inOrder(400);
    std::iota(inOrder.begin(), inOrder.end(), 0);
    EXPECT_EQ(observer.begun, inOrder);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(x[i], static_cast<int32_t>(i) + 6);
    EXPECT_EQ(count[0], 407);
    EXPECT_EQ(out[399], 399);
  }
}

TEST(RepeatTest, MemoryUseIsKnownByParameter) {
  const MemoryUse use = FlatKernel(kInPlace).program.memoryUse;
  EXPECT_TRUE(use.isKnown);
  EXPECT_FALSE(use.prints || use.orders);
  EXPECT_EQ(use.loaded, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(use.stored, (std::vector<bool>{true, true, true}));
}

TEST(RepeatTest, PointersAreFollowedThroughLoopsAndChoices) {
  const MemoryUse use = FlatKernel(R"(
  func.func @walk(%x: !tl.ptr<f32>, %y: !tl.ptr<f32>, %z: !tl.ptr<f32>, %w: !tl.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %even = arith.cmpi eq, %n, %c0 : i32
    %from = arith.select %even, %x, %y : !tl.ptr<f32>
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%p = %from) -> (!tl.ptr<f32>) : i32 {
      %v = tl.load %p : !tl.ptr<f32> -> f32
      tl.store %z, %v : !tl.ptr<f32>, f32
      %q = tl.addptr %p, %c1 : !tl.ptr<f32>, i32
      scf.yield %q : !tl.ptr<f32>
    }
    %v = tl.load %end : !tl.ptr<f32> -> f32
    tl.store %z, %v : !tl.ptr<f32>, f32
    return
  })")
                            .program.memoryUse;
  EXPECT_TRUE(use.isKnown);
  EXPECT_EQ(use.loaded, (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(use.stored, (std::vector<bool>{false, false, true, false, false}));
}

TEST(RepeatTest, APointerFromMemoryMayLeadAnywhere) {
  const MemoryUse use = FlatKernel(R"(
  func.func @table(%t: !tl.ptr<!tl.ptr<f32>>, %z: !tl.ptr<f32>) {
    %p = tl.load %t : !tl.ptr<!tl.ptr<f32>> -> !tl.ptr<f32>
    %v = tl.load %p : !tl.ptr<f32> -> f32
    tl.store %z, %v : !tl.ptr<f32>, f32
    return
  })")
                            .program.memoryUse;
  EXPECT_FALSE(use.isKnown);
}

TEST(RepeatTest, ProgramsThatLookAtAtomicsAreNotRunTwice) {
  const char *text = R"(
  func.func @ticket(%count: !tl.ptr<i32>, %out: !tl.ptr<i32>) {
    %c1 = arith.constant 1 : i32
    %old = tl.atomic_rmw "add" %count, %c1 : !tl.ptr<i32>, i32 -> i32
    %mine = tl.addptr %out, %old : !tl.ptr<i32>, i32
    tl.store %mine, %old : !tl.ptr<i32>, i32
    return
  })";
  std::vector<int32_t> count(1, 0), out(50, -1);
  FlatKernel kernel(text);
  ASSERT_EQ(kernel.error, "");
  EXPECT_TRUE(kernel.program.memoryUse.orders);
  Doubter observer;
  EXPECT_TRUE(kernel.tensor(count).tensor(out).run({50, 1, 1}, 8, {}, &observer).succeeded());
  EXPECT_EQ(observer.repeats, 0);
  EXPECT_EQ(out[49], 49);
}

} // namespace
} // namespace blockscope::interpreter
