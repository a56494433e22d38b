// The scheduler: locks, counters and barriers between programs, deadlocks, interruption.
#include "flat_kernel.h"

#include <atomic>
#include <ctime>
#include <numeric>

namespace blockscope::interpreter {
namespace {

// Every program adds 1 to t1[0], without an atomic, while it holds the lock t0[0].
constexpr const char *kSpinLock = R"(
func.func @lock(%lock: !tl.ptr<i32>, %count: !tl.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.while : () -> () {
    %old = tl.atomic_cas %lock, %c0, %c1 : !tl.ptr<i32>, i32
    %busy = arith.cmpi ne, %old, %c0 : i32
    scf.condition(%busy)
  } do {
    scf.yield
  }
  %x = tl.load %count : !tl.ptr<i32> -> i32
  %y = arith.addi %x, %c1 : i32
  tl.store %count, %y : !tl.ptr<i32>, i32
  %free = tl.atomic_rmw "xchg" %lock, %c0 : !tl.ptr<i32>, i32 -> i32
  return
})";

TEST(SchedulerTest, SpinLocksMakeProgressOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int32_t> lock(1, 0), count(1, 0);
    FlatKernel kernel(kSpinLock);
    ASSERT_EQ(kernel.error, "");
    EXPECT_TRUE(kernel.program.hasAtomics);
    kernel.tensor(lock).tensor(count);
    EXPECT_TRUE(kernel.run({1000, 2, 1}, threads).succeeded());
    EXPECT_EQ(count[0], 2000) << threads;
  }
}

TEST(SchedulerTest, LockThatIsNeverFreedIsADeadlock) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int32_t> lock(1, 1), count(1, 0);
    FlatKernel kernel(kSpinLock);
    kernel.tensor(lock).tensor(count);
    const LaunchResult result = kernel.run({50, 1, 1}, threads);
    ASSERT_EQ(result.errors.size(), 1U);
    const Finding &finding = result.errors[0];
    EXPECT_EQ(finding.code, FindingCode::Deadlock);
    EXPECT_EQ(finding.message,
              "program 0 waits here for ever for 't0'[0], which no program of this "
              "launch has changed: all 50 live programs only spin and no memory "
              "changes");
    EXPECT_EQ(finding.programCount, 50);
    EXPECT_EQ(finding.site.location.line, 6);
  }
}

// Each program waits until t0[0] reaches its own number from above: the last one must run first.
constexpr const char *kBackwards = R"(
func.func @backwards(%turn: !tl.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %me = tl.program_id 0 : i32
  scf.while : () -> () {
    %now = tl.load %turn {is_volatile = true} : !tl.ptr<i32> -> i32
    %wait = arith.cmpi ne, %now, %me : i32
    scf.condition(%wait)
  } do {
    scf.yield
  }
  %m1 = arith.constant -1 : i32
  %old = tl.atomic_rmw "add" %turn, %m1 : !tl.ptr<i32>, i32 -> i32
  return
})";

TEST(SchedulerTest, ProgramsMayWaitForLaterOnes) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int32_t> turn(1, 599);
    FlatKernel kernel(kBackwards);
    kernel.tensor(turn);
    EXPECT_TRUE(kernel.run({600, 1, 1}, threads).succeeded());
    EXPECT_EQ(turn[0], -1);
  }
}

TEST(SchedulerTest, ProgramLeftAloneIsADeadlock) {
  std::vector<int32_t> turn(1, 10);
  FlatKernel kernel(kBackwards);
  kernel.tensor(turn);
  const LaunchResult result = kernel.run({12, 1, 1});
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_EQ(result.errors[0].message,
            "program 11 waits here for ever for 't0'[0], last changed by program 0, which has "
            "ended: no other program is left, and no memory changes");
}

// Each program takes a lock and keeps it, then takes the next one's; the last one takes the first.
constexpr const char *kCircle = R"(
func.func @circle(%locks: !tl.ptr<i32>, %ready: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %me = tl.program_id 0 : i32
  %mine = tl.addptr %locks, %me : !tl.ptr<i32>, i32
  %x = tl.atomic_cas %mine, %c0, %c1 : !tl.ptr<i32>, i32
  %y = tl.atomic_rmw "add" %ready, %c1 : !tl.ptr<i32>, i32 -> i32
  scf.while : () -> () {
    %now = tl.atomic_rmw "add" %ready, %c0 : !tl.ptr<i32>, i32 -> i32
    %wait = arith.cmpi slt, %now, %n : i32
    scf.condition(%wait)
  } do {
    scf.yield
  }
  %above = arith.addi %me, %c1 : i32
  %next = arith.remsi %above, %n : i32
  %other = tl.addptr %locks, %next : !tl.ptr<i32>, i32
  scf.while : () -> () {
    %old = tl.atomic_cas %other, %c0, %c1 : !tl.ptr<i32>, i32
    %busy = arith.cmpi ne, %old, %c0 : i32
    scf.condition(%busy)
  } do {
    scf.yield
  }
  return
})";

TEST(SchedulerTest, ADeadlockNamesWhoHasTheLocks) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int32_t> locks(12, 0), ready(1, 0);
    FlatKernel kernel(kCircle);
    ASSERT_EQ(kernel.error, "");
    kernel.tensor(locks).tensor(ready).scalar(12);
    const LaunchResult result = kernel.run({12, 1, 1}, threads);
    ASSERT_EQ(result.errors.size(), 1U);
    const Finding &finding = result.errors[0];
    EXPECT_EQ(finding.message,
              "program 0 waits here for ever for 't0'[1], taken by program 1, in a circle of 12 "
              "programs that wait for one another: all 12 live programs only spin and no memory "
              "changes");
    ASSERT_TRUE(finding.waiting);
    EXPECT_EQ(finding.waiting->programs, 12);
    EXPECT_EQ(finding.waiting->circle, 12);
    ASSERT_EQ(finding.waiting->waits.size(), 8U);
    for (int i = 0; i < 8; ++i) {
      const Wait &wait = finding.waiting->waits[i];
      EXPECT_EQ(wait.program[0], i);
      EXPECT_EQ(wait.location.line, 20);
      ASSERT_TRUE(wait.holder);
      EXPECT_EQ(wait.holder->program[0], i + 1);
      EXPECT_EQ(wait.holder->state, Holder::State::Waits);
      EXPECT_TRUE(wait.holder->hasTaken);
      EXPECT_EQ(wait.holder->location.line, 7);
    }
    const Site *change = finding.find(SiteRole::ChangedAt);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->location.line, 7);
    EXPECT_EQ(change->execution->program[0], 1);
  }
}

// The last program to arrive adds up what all have stored.
constexpr const char *kLastBlock = R"(
func.func @last(%counter: !tl.ptr<i32>, %parts: !tl.ptr<i32>, %out: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %me = tl.program_id 0 : i32
  %mine = tl.addptr %parts, %me : !tl.ptr<i32>, i32
  tl.store %mine, %me : !tl.ptr<i32>, i32
  %before = tl.atomic_rmw "add" %counter, %c1 : !tl.ptr<i32>, i32 -> i32
  %arrived = arith.addi %before, %c1 : i32
  %isLast = arith.cmpi eq, %arrived, %n : i32
  scf.if %isLast {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (i32) : i32 {
      %p = tl.addptr %parts, %i : !tl.ptr<i32>, i32
      %x = tl.load %p : !tl.ptr<i32> -> i32
      %t = arith.addi %s, %x : i32
      scf.yield %t : i32
    }
    tl.store %out, %sum : !tl.ptr<i32>, i32
  }
  return
})";

TEST(SchedulerTest, LastBlockSeesAllOthers) {
  for (const int threads : {1, 2, 8}) {
    std::vector<int32_t> counter(1, 0), parts(500, 0), out(1, 0);
    FlatKernel kernel(kLastBlock);
    kernel.tensor(counter).tensor(parts).tensor(out).scalar(500);
    EXPECT_TRUE(kernel.run({500, 1, 1}, threads).succeeded());
    EXPECT_EQ(out[0], 499 * 500 / 2);
  }
}

// A barrier over the whole grid: all programs are alive at once.
constexpr const char *kGridBarrier = R"(
func.func @barrier(%counter: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tl.atomic_rmw "add" %counter, %c1 : !tl.ptr<i32>, i32 -> i32
  scf.while : () -> () {
    %now = tl.atomic_rmw "add" %counter, %c0 : !tl.ptr<i32>, i32 -> i32
    %wait = arith.cmpi slt, %now, %n : i32
    scf.condition(%wait)
  } do {
    scf.yield
  }
  return
})";

TEST(SchedulerTest, WholeGridMeetsAtABarrier) {
  for (const int threads : {1, 2}) {
    std::vector<int32_t> counter(1, 0);
    FlatKernel kernel(kGridBarrier);
    kernel.tensor(counter).scalar(2000);
    EXPECT_TRUE(kernel.run({2000, 1, 1}, threads).succeeded());
    EXPECT_EQ(counter[0], 2000);
  }
}

TEST(SchedulerTest, BoundedTriesAreNotADeadlock) {
  std::vector<int32_t> lock(1, 1), out(1, 0);
  FlatKernel kernel(R"(
  func.func @tries(%lock: !tl.ptr<i32>, %out: !tl.ptr<i32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %most = arith.constant 1000 : i32
    %n = scf.while (%k = %c0) : (i32) -> (i32) {
      %old = tl.atomic_cas %lock, %c0, %c1 : !tl.ptr<i32>, i32
      %busy = arith.cmpi ne, %old, %c0 : i32
      %few = arith.cmpi slt, %k, %most : i32
      %go = arith.andi %busy, %few : i1
      scf.condition(%go) %k : i32
    } do {
    ^bb0(%k: i32):
      %next = arith.addi %k, %c1 : i32
      scf.yield %next : i32
    }
    tl.store %out, %n : !tl.ptr<i32>, i32
    return
  })");
  kernel.tensor(lock).tensor(out);
  EXPECT_TRUE(kernel.run({1, 1, 1}).succeeded());
  EXPECT_EQ(out[0], 1000);
}

constexpr const char *kLongLoop = R"(
func.func @long(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %x = tl.program_id 0 : i32
  }
  return
})";

TEST(SchedulerTest, PollStopsALongProgram) {
  FlatKernel kernel(kLongLoop);
  kernel.scalar(2000000000);
  const std::clock_t begin = std::clock(); // of the processor: on a busy machine all takes long
  const LaunchResult result = kernel.run({4, 1, 1}, 2, [] { return true; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 5);
}

TEST(SchedulerTest, PollStopsAHugeGrid) {
  FlatKernel kernel(kLongLoop);
  kernel.scalar(1);
  const LaunchResult result = kernel.run({2147483647, 65535, 1}, 2, [] { return true; });
  EXPECT_TRUE(result.interrupted);
}

// What a callback that fails does: it keeps its error for whoever launched, and abandons the
// launch.
TEST(SchedulerTest, APrintThatFailsEndsTheLaunch) {
  constexpr const char *kPrint = R"(
func.func @print() {
  %x = tl.program_id 0 : i32
  tl.print "x: " false [true], %x : i32
  return
})";
  for (const int threads : {1, 8}) {
    FlatKernel kernel(kPrint);
    ASSERT_EQ(kernel.error, "");
    std::atomic<int> calls = 0;
    kernel.print = [&](LaunchState &launch, llvm::StringRef) {
      ++calls;
      launch.abandon();
    };
    const LaunchResult result = kernel.run({100000, 1, 1}, threads);
    EXPECT_TRUE(result.errors.empty());
    EXPECT_EQ(result.failure, "");
    EXPECT_GE(calls, 1);
    EXPECT_LE(calls, threads); // those that had begun
  }
}

TEST(SchedulerTest, GridThatCannotBeIsRefused) {
  FlatKernel kernel(kLongLoop);
  kernel.scalar(1);
  EXPECT_EQ(kernel.run({2147483647, 2147483647, 2147483647}).failure,
            "grid (2147483647, 2147483647, 2147483647) has more than 2^62 programs");
  EXPECT_EQ(kernel.run({4, 0, 1}).failure, "grid (4, 0, 1) has a dimension that is not positive");
}

/// Records the order of programs.
class OrderObserver : public Observer {
public:
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.programOrder = plan.takesDeadlocks = true;
    return plan;
  }
  void onProgramBegin(int64_t program, int worker) override {
    EXPECT_EQ(worker, 0);
    begun.push_back(program);
  }
  void onDeadlock(llvm::ArrayRef<StuckProgram> programs) override { stuck = programs.size(); }
  std::vector<int64_t> begun;
  size_t stuck = 0;
};

TEST(SchedulerTest, ObserversMayAskForProgramOrder) {
  std::vector<int32_t> lock(1, 0), count(1, 0);
  FlatKernel kernel(kSpinLock);
  kernel.tensor(lock).tensor(count);
  OrderObserver observer;
  EXPECT_TRUE(kernel.run({5, 4, 3}, 8, {}, &observer).succeeded());
  std::vector<int64_t> expected(60);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(observer.begun, expected);

  lock[0] = 1;
  EXPECT_TRUE(kernel.run({5, 1, 1}, 8, {}, &observer).succeeded());
  EXPECT_EQ(observer.stuck, 5U);
}

/// Remembers how many programs waited when it was told of them.
class ResidencyObserver : public Observer {
public:
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.residency = true;
    return plan;
  }
  void onProgramBegin(int64_t, int) override { ++begun; }
  void onNotResident(const NotResident &told) override {
    EXPECT_EQ(told.next, begun);
    crowds.push_back(static_cast<int64_t>(told.waiting.size()));
    EXPECT_EQ(told.waiting.front().program, 0);
    EXPECT_EQ(told.waiting.back().program, told.next - 1);
  }
  std::atomic<int64_t> begun = 0;
  std::vector<int64_t> crowds;
};

TEST(SchedulerTest, ObserversAreToldOfProgramsThatAllWait) {
  const auto run = [](const char *text, int32_t programs, std::vector<int32_t> memory) {
    std::vector<int32_t> count(1, 0);
    FlatKernel kernel(text);
    kernel.tensor(memory);
    if (text == kSpinLock)
      kernel.tensor(count);
    if (text == kGridBarrier)
      kernel.scalar(programs);
    ResidencyObserver observer;
    EXPECT_TRUE(kernel.run({programs, 1, 1}, 8, {}, &observer).succeeded());
    return observer.crowds;
  };
  const std::vector<int64_t> expected{132, 264, 396};
  EXPECT_EQ(run(kGridBarrier, 440, {0}), expected);
  EXPECT_EQ(run(kBackwards, 440, {439}), expected);
  EXPECT_EQ(run(kSpinLock, 440, {0}), std::vector<int64_t>());
}

TEST(SchedulerTest, AGridThatAGpuHoldsIsNotFull) {
  std::vector<int32_t> count(1, 0);
  FlatKernel kernel(kGridBarrier);
  kernel.tensor(count).scalar(132);
  ResidencyObserver observer;
  EXPECT_TRUE(kernel.run({132, 1, 1}, 8, {}, &observer).succeeded());
  EXPECT_EQ(observer.crowds, std::vector<int64_t>());
}

TEST(SchedulerTest, ResultsDoNotDependOnThreads) {
  const char *text = R"(
  func.func @scale(%x: !tl.ptr<f32>, %y: !tl.ptr<f32>, %n: i32) {
    %c512 = arith.constant 512 : i32
    %me = tl.program_id 0 : i32
    %first = arith.muli %me, %c512 : i32
    %firsts = tl.splat %first : i32 -> tensor<512xi32>
    %lanes = tl.range 0 to 512 : tensor<512xi32>
    %i = arith.addi %firsts, %lanes : tensor<512xi32>
    %ns = tl.splat %n : i32 -> tensor<512xi32>
    %mask = arith.cmpi slt, %i, %ns : tensor<512xi32>
    %xs = tl.splat %x : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
    %xp = tl.addptr %xs, %i : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    %v = tl.load %xp mask %mask : tensor<512xi1> : tensor<512x!tl.ptr<f32>> -> tensor<512xf32>
    %sum = "tl.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tl.yield %s : f32
    }) : (tensor<512xf32>) -> f32
    %sums = tl.splat %sum : f32 -> tensor<512xf32>
    %w = arith.divf %v, %sums : tensor<512xf32>
    %ys = tl.splat %y : !tl.ptr<f32> -> tensor<512x!tl.ptr<f32>>
    %yp = tl.addptr %ys, %i : tensor<512x!tl.ptr<f32>>, tensor<512xi32>
    tl.store %yp, %w mask %mask : tensor<512xi1> : tensor<512x!tl.ptr<f32>>, tensor<512xf32>
    return
  })";
  std::vector<float> x(100000), first;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 1.0F / static_cast<float>(i % 977 + 1);
  for (const int threads : {1, 2, 8}) {
    std::vector<float> y(x.size(), -1);
    FlatKernel kernel(text);
    ASSERT_EQ(kernel.error, "");
    kernel.tensor(x).tensor(y).scalar(static_cast<int32_t>(x.size()));
    EXPECT_TRUE(kernel.run({196, 1, 1}, threads).succeeded());
    if (first.empty())
      first = y;
    EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0);
  }
}

} // namespace
} // namespace blockscope::interpreter
