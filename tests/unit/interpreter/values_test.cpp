// The form of the flat program that shows values: what observers are told is what was computed.
#include "flat_kernel.h"
#include "random_kernel.h"

#include <array>
#include <map>
#include <set>

namespace blockscope::interpreter {
namespace {

/// What was last shown at every address.
class ShownMemory {
public:
  void remember(const void *data, int64_t bytes) {
    forEachPiece(data, bytes, [](Page &page, size_t at, const std::byte *from, size_t count) {
      std::memcpy(page.bytes.data() + at, from, count);
      std::fill_n(page.isKnown.begin() + static_cast<ptrdiff_t>(at), count, true);
    });
  }
  /// Whether every byte that was shown here is as it was.
  bool agrees(const void *data, int64_t bytes) {
    bool same = true;
    forEachPiece(data, bytes, [&](Page &page, size_t at, const std::byte *now, size_t count) {
      for (size_t i = 0; i < count; ++i)
        same = same && (!page.isKnown[at + i] || page.bytes[at + i] == now[i]);
    });
    return same;
  }

private:
  struct Page {
    std::array<std::byte, 4096> bytes;
    std::array<bool, 4096> isKnown = {};
  };

  void forEachPiece(const void *data, int64_t bytes,
                    llvm::function_ref<void(Page &, size_t, const std::byte *, size_t)> visit) {
    const auto *from = static_cast<const std::byte *>(data);
    while (bytes > 0) {
      const auto address = reinterpret_cast<uintptr_t>(from);
      const size_t at = address % 4096;
      const size_t count = std::min(4096 - at, static_cast<size_t>(bytes));
      std::unique_ptr<Page> &page = pages_[address / 4096];
      if (!page)
        page = std::make_unique<Page>();
      visit(*page, at, from, count);
      from += count;
      bytes -= static_cast<int64_t>(count);
    }
  }
  std::map<uintptr_t, std::unique_ptr<Page>> pages_;
};

/// Holds every event against what came before it, and computes integer ops again.
class Follower : public Observer {
public:
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.values = plan.needs.programOrder = true;
    return plan;
  }
  void onValues(const OpValues &values) override {
    ++events;
    names.insert(values.op->name);
    for (const ValueView &operand : values.operands)
      EXPECT_TRUE(shown.agrees(operand.data, bytesOf(operand, values))) << values.op->name;
    computeAgain(values);
    for (const ValueView &result : values.results)
      shown.remember(result.data, bytesOf(result, values));
  }
  void onMove(const ValueMove &move) override {
    ++moves;
    EXPECT_TRUE(shown.agrees(move.from, move.bytes));
    shown.remember(move.to, move.bytes);
  }
  void onDecision(const ValueDecision &decision) override {
    ++decisions[decision.op->name];
    for (const ValueView &value : decision.values)
      EXPECT_TRUE(shown.agrees(value.data, value.type->elementBytes()));
  }

  int events = 0, moves = 0, recomputed = 0;
  std::set<std::string> names;
  std::map<std::string, int> decisions;
  ShownMemory shown;

private:
  static int64_t bytesOf(const ValueView &view, const OpValues &values) {
    const int64_t elements = view.extent == ValueView::Extent::One     ? 1
                             : view.extent == ValueView::Extent::Whole ? view.type->numElements()
                                                                       : values.count;
    return elements * view.type->elementBytes();
  }
  static uint32_t element(const ValueView &view, int64_t i) {
    return static_cast<const uint32_t *>(view.data)[view.extent == ValueView::Extent::One ? 0 : i];
  }
  void computeAgain(const OpValues &values) {
    static const std::map<std::string, uint32_t (*)(uint32_t, uint32_t)> ops = {
        {"arith.addi", [](uint32_t a, uint32_t b) { return a + b; }},
        {"arith.subi", [](uint32_t a, uint32_t b) { return a - b; }},
        {"arith.muli", [](uint32_t a, uint32_t b) { return a * b; }},
        {"arith.xori", [](uint32_t a, uint32_t b) { return a ^ b; }},
        {"arith.andi", [](uint32_t a, uint32_t b) { return a & b; }},
    };
    const auto op = ops.find(values.op->name);
    if (op == ops.end() || values.results[0].type->dtype != DType::Int32)
      return;
    for (int64_t i = 0; i < values.count; ++i)
      ASSERT_EQ(element(values.results[0], i),
                op->second(element(values.operands[0], i), element(values.operands[1], i)))
          << values.op->name << " element " << values.begin + i;
    ++recomputed;
  }
};

TEST(ValuesTest, EveryValueIsShownAndStaysUntilItsLastUse) {
  int moves = 0, recomputed = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const std::string text = RandomKernel(seed).make();
    for (const int32_t n : {0, 3})
      for (const FlatOptions &options :
           {FlatOptions{.values = true}, FlatOptions{.fuse = false, .values = true},
            FlatOptions{.coalesce = false, .share = false, .values = true}}) {
        std::vector<int32_t> plain(1024, -1), shown(1024, -2);
        EXPECT_TRUE(FlatKernel(text).tensor(plain).scalar(n).run({1, 1, 1}, 1).succeeded());
        Follower follower;
        FlatKernel kernel(text, options);
        EXPECT_TRUE(kernel.tensor(shown).scalar(n).run({1, 1, 1}, 1, {}, &follower).succeeded());
        ASSERT_EQ(shown, plain) << "seed " << seed;
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << "\n" << text;
        moves += follower.moves;
        recomputed += follower.recomputed;
        EXPECT_TRUE(follower.names.count("tl.store"));
      }
  }
  EXPECT_GT(moves, 1000);
  EXPECT_GT(recomputed, 5000);
}

constexpr const char *kFlow = R"(
func.func @k(%out: !tl.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lanes = tl.range 0 to 8192 : tensor<8192xi32>
  %ns = tl.splat %n : i32 -> tensor<8192xi32>
  %a = arith.muli %lanes, %ns : tensor<8192xi32>
  %b = arith.addi %a, %lanes : tensor<8192xi32>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %b) -> (tensor<8192xi32>) : i32 {
    %is = tl.splat %i : i32 -> tensor<8192xi32>
    %y = arith.addi %x, %is : tensor<8192xi32>
    scf.yield %y : tensor<8192xi32>
  }
  %big = arith.cmpi sgt, %n, %c1 : i32
  scf.if %big {
    %os = tl.splat %out : !tl.ptr<i32> -> tensor<8192x!tl.ptr<i32>>
    %op = tl.addptr %os, %lanes : tensor<8192x!tl.ptr<i32>>, tensor<8192xi32>
    tl.store %op, %s : tensor<8192x!tl.ptr<i32>>, tensor<8192xi32>
  }
  return
})";

/// Remembers the parts in which ops were shown.
struct Parts : Observer {
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.needs.values = plan.needs.programOrder = true;
    return plan;
  }
  void onValues(const OpValues &values) override {
    parts[values.op->name].push_back({values.begin, values.count});
    lines[values.op->name] = values.op->location.line;
    EXPECT_EQ(values.signature->name, values.op->name);
    EXPECT_EQ(values.signature->operands.size(), values.operands.size());
  }
  void onDecision(const ValueDecision &decision) override {
    int32_t value = 0;
    std::memcpy(&value, decision.values.back().data, decision.values.back().type->elementBytes());
    decisions.push_back(decision.op->name + " " + std::to_string(value));
    loops = std::max(loops, decision.loopIterations.size());
  }
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> parts;
  std::map<std::string, int32_t> lines;
  std::vector<std::string> decisions;
  size_t loops = 0;
};

TEST(ValuesTest, ChainsAreShownStripByStripAndDecisionsOnce) {
  std::vector<int32_t> out(8192, 0);
  FlatKernel kernel(kFlow, {.values = true});
  ASSERT_EQ(kernel.error, "");
  Parts parts;
  EXPECT_TRUE(kernel.tensor(out).scalar(3).run({1, 1, 1}, 1, {}, &parts).succeeded());
  const auto &products = parts.parts["arith.muli"];
  ASSERT_GT(products.size(), 1U); // fused with the sum behind it
  int64_t next = 0;
  for (const auto &[begin, count] : products) {
    EXPECT_EQ(begin, next);
    next += count;
  }
  EXPECT_EQ(next, 8192);
  EXPECT_EQ(parts.lines["arith.muli"], 7);
  EXPECT_EQ(parts.parts["tl.store"], (std::vector<std::pair<int64_t, int64_t>>{{0, 8192}}));
  // The step of the loop, then the condition.
  EXPECT_EQ(parts.decisions, (std::vector<std::string>{"scf.for 1", "scf.if 1"}));
}

TEST(ValuesTest, AProgramOfTheUsualFormIsRefused) {
  std::vector<int32_t> out(8192, 0);
  FlatKernel kernel(kFlow);
  EXPECT_FALSE(kernel.program.showsValues);
  EXPECT_TRUE(kernel.program.shown.empty());
  Parts parts;
  EXPECT_EQ(kernel.tensor(out).scalar(3).run({1, 1, 1}, 1, {}, &parts).failure,
            "an observer needs the values of ops, which this program was not built to show");
}

TEST(ValuesTest, CombineRegionsAreShownAsTheirReduce) {
  std::vector<int32_t> out(1, 0);
  FlatKernel kernel(R"(
  func.func @k(%out: !tl.ptr<i32>) {
    %lanes = tl.range 0 to 64 : tensor<64xi32>
    %m = "tl.reduce"(%lanes) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %s = arith.addi %a, %b : i32
      %t = arith.xori %s, %a : i32
      tl.yield %t : i32
    }) : (tensor<64xi32>) -> i32
    tl.store %out, %m : !tl.ptr<i32>, i32
    return
  })",
                    {.values = true});
  ASSERT_EQ(kernel.error, "");
  Parts parts;
  EXPECT_TRUE(kernel.tensor(out).run({1, 1, 1}, 1, {}, &parts).succeeded());
  EXPECT_EQ(parts.parts.count("arith.xori"), 0U);
  EXPECT_EQ(parts.parts["tl.reduce"].size(), 1U);
}

} // namespace
} // namespace blockscope::interpreter
