// Tiles: kernels give the same results and the same errors with and without them.
#include "flat_kernel.h"

#include <random>

namespace blockscope::interpreter {
namespace {

// Reads a 16 x 32 block three times, moving on by %step, and stores the sum; offsets as values too.
constexpr const char *kWalk = R"(
func.func @walk(%in: !tl.ptr<f32>, %out: !tl.ptr<f32>, %offsets: !tl.ptr<i64>, %m: i32, %n: i32,
                %s0: i32, %s1: i32, %step: i32, %wrap: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c16 = arith.constant 16 : i32
  %pid = tl.program_id 0 : i32
  %first = arith.muli %pid, %c16 : i32
  %r = tl.range 0 to 16 : tensor<16xi32>
  %c = tl.range 0 to 32 : tensor<32xi32>
  %f = tl.splat %first : i32 -> tensor<16xi32>
  %rows = arith.addi %f, %r : tensor<16xi32>
  %ms = tl.splat %m : i32 -> tensor<16xi32>
  %ns = tl.splat %n : i32 -> tensor<32xi32>
  %rm = arith.cmpi PREDICATE, %rows, %ms : tensor<16xi32>
  %cm = arith.cmpi slt, %c, %ns : tensor<32xi32>
  %rm2 = tl.expand_dims %rm axis 1 : tensor<16xi1> -> tensor<16x1xi1>
  %cm2 = tl.expand_dims %cm axis 0 : tensor<32xi1> -> tensor<1x32xi1>
  %rmb = tl.broadcast %rm2 : tensor<16x1xi1> -> tensor<16x32xi1>
  %cmb = tl.broadcast %cm2 : tensor<1x32xi1> -> tensor<16x32xi1>
  %mask = arith.andi %rmb, %cmb : tensor<16x32xi1>
  %wraps = tl.splat %wrap : i32 -> tensor<16xi32>
  %within = arith.remsi %rows, %wraps : tensor<16xi32>
  %r2 = tl.expand_dims %within axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %c2 = tl.expand_dims %c axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %s0s = tl.splat %s0 : i32 -> tensor<16x1xi32>
  %s1s = tl.splat %s1 : i32 -> tensor<1x32xi32>
  %ro = arith.muli %r2, %s0s : tensor<16x1xi32>
  %co = arith.muli %c2, %s1s : tensor<1x32xi32>
  %rob = tl.broadcast %ro : tensor<16x1xi32> -> tensor<16x32xi32>
  %cob = tl.broadcast %co : tensor<1x32xi32> -> tensor<16x32xi32>
  %off = arith.addi %rob, %cob : tensor<16x32xi32>
  %p = tl.splat %in : !tl.ptr<f32> -> tensor<16x32x!tl.ptr<f32>>
  %ps = tl.addptr %p, %off : tensor<16x32x!tl.ptr<f32>>, tensor<16x32xi32>
  %other = arith.constant dense<1.5> : tensor<16x32xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %steps = tl.splat %step : i32 -> tensor<16x32xi32>
  %sum, %end = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %zero, %at = %ps)
      -> (tensor<16x32xf32>, tensor<16x32x!tl.ptr<f32>>) : i32 {
    %x = tl.load %at mask %mask : tensor<16x32xi1> other %other : tensor<16x32xf32> : tensor<16x32x!tl.ptr<f32>> -> tensor<16x32xf32>
    %next = arith.addf %acc, %x : tensor<16x32xf32>
    %to = tl.addptr %at, %steps : tensor<16x32x!tl.ptr<f32>>, tensor<16x32xi32>
    scf.yield %next, %to : tensor<16x32xf32>, tensor<16x32x!tl.ptr<f32>>
  }
  %lower = arith.cmpi sge, %rob, %cob : tensor<16x32xi32>
  %kept = arith.select %lower, %sum, %zero : tensor<16x32xi1>, tensor<16x32xf32>
  %c32 = arith.constant dense<32> : tensor<16x1xi32>
  %rows2 = tl.expand_dims %rows axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %wr = arith.muli %rows2, %c32 : tensor<16x1xi32>
  %wrb = tl.broadcast %wr : tensor<16x1xi32> -> tensor<16x32xi32>
  %wcb = tl.broadcast %c2 : tensor<1x32xi32> -> tensor<16x32xi32>
  %w = arith.addi %wrb, %wcb : tensor<16x32xi32>
  %q = tl.splat %out : !tl.ptr<f32> -> tensor<16x32x!tl.ptr<f32>>
  %qs = tl.addptr %q, %w : tensor<16x32x!tl.ptr<f32>>, tensor<16x32xi32>
  tl.store %qs, %kept mask %mask : tensor<16x32xi1> : tensor<16x32x!tl.ptr<f32>>, tensor<16x32xf32>
  %wide = arith.EXTEND %off : tensor<16x32xi32> to tensor<16x32xi64>
  %bits = arith.extui %mask : tensor<16x32xi1> to tensor<16x32xi64>
  %sixth = arith.addi %wide, %bits : tensor<16x32xi64>
  %twice = arith.addi %wide, %sixth : tensor<16x32xi64>
  %o = tl.splat %offsets : !tl.ptr<i64> -> tensor<16x32x!tl.ptr<i64>>
  %os = tl.addptr %o, %w : tensor<16x32x!tl.ptr<i64>>, tensor<16x32xi32>
  tl.store %os, %twice : tensor<16x32x!tl.ptr<i64>>, tensor<16x32xi64>
  return
})";

struct Outcome {
  std::vector<float> out;
  std::vector<int64_t> offsets;
  std::vector<std::string> errors;
};

Outcome runWalk(const std::string &text, bool tiles, const std::array<int32_t, 6> &numbers,
                std::vector<float> &in) {
  Outcome run{std::vector<float>(48 * 32, -1), std::vector<int64_t>(48 * 32, -1), {}};
  FlatOptions options;
  options.tiles = tiles;
  FlatKernel kernel(text, options);
  EXPECT_EQ(kernel.error, "");
  kernel.tensor(in).tensor(run.out).tensor(run.offsets);
  for (const int32_t number : numbers)
    kernel.scalar(number);
  for (const Finding &finding : kernel.run({3, 1, 1}, 1).errors)
    run.errors.push_back(std::string(codeText(finding.code)) + " " + finding.message + " " +
                         std::to_string(finding.site.execution->lane));
  return run;
}

std::string replace(std::string text, const std::string &what, const std::string &by) {
  return text.replace(text.find(what), what.size(), by);
}

TEST(TileTest, SameResultsAndErrorsAsBlocks) {
  std::mt19937 random(7);
  std::vector<float> in(4096);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i);
  const int32_t strides[] = {0, 1, -1, 2, 32, 33, 64, 1000, 1 << 20, 1 << 27, 1 << 30, -(1 << 26)};
  const int32_t wraps[] = {1000, 16, 20, 5, 0};
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  for (const char *predicate : {"slt", "sle", "sgt", "sge"})
    for (const char *extend : {"extsi", "extui"}) {
      const std::string text = replace(replace(kWalk, "PREDICATE", predicate), "EXTEND", extend);
      for (int i = 0; i < 40; ++i) {
        const std::array<int32_t, 6> numbers = {pick(50),          pick(36) - 2,
                                                strides[pick(12)], strides[pick(12)],
                                                strides[pick(8)],  wraps[pick(5)]};
        const Outcome with = runWalk(text, true, numbers, in);
        const Outcome without = runWalk(text, false, numbers, in);
        ASSERT_EQ(with.errors, without.errors) << ::testing::PrintToString(numbers);
        ASSERT_EQ(with.out, without.out) << ::testing::PrintToString(numbers);
        ASSERT_EQ(with.offsets, without.offsets) << ::testing::PrintToString(numbers);
      }
    }
}

/// Sums what it is told, and that it was told enough.
class CountObserver : public Observer {
public:
  using Accesses = RunNeeds::Accesses;
  explicit CountObserver(bool runs, Accesses accesses = Accesses::All)
      : runs_(runs), accesses_(accesses) {}
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.runs = runs_;
    plan.needs.accesses = accesses_;
    return plan;
  }
  void onAccess(const Access &access) override {
    ++(access.kind == AccessKind::Load ? loads : stores);
    last = access.sequence;
    active += access.activeLanes;
    if (access.activeLanes == 0)
      return;
    ASSERT_NE(access.allocation, nullptr);
    int64_t inRuns = 0;
    for (const AccessRun &run : access.runs)
      inRuns += run.count;
    if (runs_)
      EXPECT_EQ(inRuns, access.activeLanes);
    bounds += access.minOffset + 3 * access.maxOffset;
  }
  int64_t active = 0;
  int64_t bounds = 0;
  int64_t loads = 0, stores = 0;
  uint64_t last = 0; ///< the number of the last access

private:
  bool runs_;
  Accesses accesses_;
};

TEST(TileTest, ObserversSeeTheSameAccesses) {
  std::vector<float> in(4096);
  const std::string text = replace(replace(kWalk, "PREDICATE", "slt"), "EXTEND", "extsi");
  for (const bool runs : {false, true})
    for (const int32_t rows : {0, 17, 48}) {
      std::array<int64_t, 2> active = {}, bounds = {};
      for (const bool tiles : {false, true}) {
        std::vector<float> out(48 * 32);
        std::vector<int64_t> offsets(48 * 32);
        FlatOptions options;
        options.tiles = tiles;
        FlatKernel kernel(text, options);
        kernel.tensor(in).tensor(out).tensor(offsets);
        for (const int32_t number : {rows, 30, 64, 1, 3, 48})
          kernel.scalar(number);
        CountObserver observer(runs);
        EXPECT_TRUE(kernel.run({3, 1, 1}, 1, {}, &observer).succeeded());
        active[tiles] = observer.active;
        bounds[tiles] = observer.bounds;
      }
      EXPECT_EQ(active[0], active[1]);
      EXPECT_EQ(bounds[0], bounds[1]);
    }
}

TEST(TileTest, ObserversAreToldOfWhatTheyNeed) {
  using Accesses = RunNeeds::Accesses;
  std::vector<float> in(4096);
  const std::string text = replace(replace(kWalk, "PREDICATE", "slt"), "EXTEND", "extsi");
  const auto told = [&](Accesses needs) {
    std::vector<float> out(48 * 32);
    std::vector<int64_t> offsets(48 * 32);
    FlatKernel kernel(text, {});
    kernel.tensor(in).tensor(out).tensor(offsets);
    for (const int32_t number : {17, 30, 64, 1, 3, 48})
      kernel.scalar(number);
    CountObserver observer(false, needs);
    EXPECT_TRUE(kernel.run({1, 1, 1}, 1, {}, &observer).succeeded());
    return observer;
  };
  const CountObserver all = told(Accesses::All), stored = told(Accesses::Stored),
                      outside = told(Accesses::Outside);
  EXPECT_GT(all.loads, 0);
  EXPECT_EQ(stored.loads, 0); // nothing stores to `in`
  EXPECT_EQ(stored.stores, all.stores);
  EXPECT_EQ(stored.last, all.last); // what is not told of counts
  EXPECT_EQ(outside.loads + outside.stores, 0);
}

} // namespace
} // namespace blockscope::interpreter
