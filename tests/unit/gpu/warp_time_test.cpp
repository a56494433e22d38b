// The clock by which machine code is compared: instructions made by hand.
#include "gpu_backend/codegen/warp_time.h"

#include <gtest/gtest.h>

#include <string>

namespace blockscope::gpu {
namespace {

constexpr int kNone = 7; // no barrier
constexpr uint64_t kAlways = 7;
constexpr uint64_t kLoad = 0x981, kAdd = 0x221, kBranch = 0x947, kExit = 0x94d;

/// Machine code, written as ptxas does for one generation of GPUs.
class Code {
public:
  explicit Code(bool branchesByWords) : branchesByWords_(branchesByWords) {}

  /// An instruction that takes `cycles`, sets barrier `sets` and waits for those of `waits`.
  Code &add(uint64_t op, int cycles = 1, int sets = kNone, int waits = 0,
            uint64_t predicate = kAlways) {
    const uint64_t control = static_cast<uint64_t>(cycles) | static_cast<uint64_t>(sets) << 5 |
                             uint64_t{kNone} << 8 | static_cast<uint64_t>(waits) << 11;
    push(op | predicate << 12, control << 41);
    return *this;
  }
  /// A branch over `count` instructions, itself among them where it goes back.
  Code &branch(int count, uint64_t predicate) {
    const int64_t bytes = int64_t{16} * count;
    const uint64_t control = uint64_t{1} | uint64_t{kNone} << 5 | uint64_t{kNone} << 8;
    uint64_t low = kBranch | predicate << 12, high = control << 41;
    const uint64_t sign = bytes < 0 ? 0x3ffff : 0;
    if (!branchesByWords_) {
      low |= static_cast<uint64_t>(bytes) << 32;
    } else {
      const int64_t words = bytes / 4;
      low |= (static_cast<uint64_t>(words) & 0xff) << 16 | static_cast<uint64_t>(words >> 8) << 34;
    }
    push(low, high | sign);
    return *this;
  }

  /// A loop that loads and uses what it loads, and the end of the kernel.
  Code &loadInLoop() {
    return add(kLoad, 1, 2).add(kAdd, 4, kNone, 0b100).branch(-3, 1).add(kExit);
  }

  WarpTime time() const {
    const auto time = warpTime(text_, branchesByWords_);
    EXPECT_TRUE(time.has_value());
    return time.value_or(WarpTime());
  }

private:
  void push(uint64_t low, uint64_t high) {
    for (const uint64_t word : {low, high})
      for (int byte = 0; byte < 8; ++byte)
        text_.push_back(static_cast<char>(word >> (8 * byte)));
  }

  bool branchesByWords_;
  std::string text_;
};

class WarpTimes : public testing::TestWithParam<bool> {};

TEST_P(WarpTimes, LoadsThatBeginTogetherAreOneRound) {
  const WarpTime together = Code(GetParam())
                                .add(kLoad, 1, 0)
                                .add(kLoad, 1, 1)
                                .add(kAdd, 4, kNone, 0b11)
                                .add(kExit, 5)
                                .time();
  EXPECT_EQ(together.instructions, 4);
  EXPECT_EQ(together.cycles, 1 + WarpTime::kMemory + 4 + 5);
  EXPECT_EQ(together.inRounds, 0);
}

TEST_P(WarpTimes, LoadsBehindAWaitAreAnother) {
  const WarpTime apart = Code(GetParam())
                             .add(kLoad, 1, 0)
                             .add(kAdd, 4, kNone, 0b1)
                             .add(kLoad, 1, 0)
                             .add(kAdd, 4, kNone, 0b1)
                             .branch(-5, 1)
                             .add(kExit, 5)
                             .time();
  EXPECT_EQ(apart.cycles, WarpTime::kTrips * (2 * (WarpTime::kMemory + 4) + 1) + 5);
  EXPECT_NEAR(static_cast<double>(apart.inRounds), WarpTime::kTrips * WarpTime::kMemory, 50);
}

TEST_P(WarpTimes, LoopsThatLoadRunSeveralTimes) {
  const WarpTime loop = Code(GetParam())
                            .branch(3, 0) // over the loop, where it does not run
                            .loadInLoop()
                            .branch(-1, kAlways) // padding
                            .time();
  EXPECT_EQ(loop.instructions, 1 + 3 * WarpTime::kTrips + 1);
  EXPECT_EQ(loop.inRounds, 0);
  EXPECT_EQ(loop.cycles, 1 + WarpTime::kTrips * (WarpTime::kMemory + 4 + 1) + 1);
}

TEST_P(WarpTimes, OtherLoopsRunOnce) {
  const WarpTime loop =
      Code(GetParam()).add(kAdd, 4).branch(-2, 1).branch(1, kAlways).add(kAdd).add(kExit).time();
  EXPECT_EQ(loop.instructions, 4);
  EXPECT_EQ(loop.inRounds, 0);
}

TEST_P(WarpTimes, AnEarlyEndIsPassedOver) {
  const WarpTime time = Code(GetParam()).branch(2, 0).add(kAdd, 4).add(kExit).loadInLoop().time();
  EXPECT_EQ(time.instructions, 1 + 3 * WarpTime::kTrips + 1);
  EXPECT_EQ(time.loads, 1);
}

TEST_P(WarpTimes, AWayPastTheLoopIsPassedOver) {
  const WarpTime time =
      Code(GetParam()).branch(2, 0).add(kAdd, 4).branch(3, kAlways).loadInLoop().time();
  EXPECT_EQ(time.instructions, 1 + 3 * WarpTime::kTrips + 1);
}

TEST_P(WarpTimes, SeveralIterationsInOneAreComparedByTheirLoads) {
  const WarpTime one = Code(GetParam()).loadInLoop().time();
  const WarpTime four = Code(GetParam())
                            .add(kLoad, 1, 0)
                            .add(kLoad, 1, 1)
                            .add(kLoad, 1, 2)
                            .add(kLoad, 1, 3)
                            .add(kAdd, 4, kNone, 0b1111)
                            .branch(-6, 1)
                            .add(kExit)
                            .time();
  EXPECT_EQ(four.inLoop.loads, 4 * WarpTime::kTrips);
  const WarpTime same = four.forLoadsOf(one);
  EXPECT_EQ(same.inLoop.loads, one.inLoop.loads);
  EXPECT_NEAR(static_cast<double>(same.cycles), static_cast<double>(one.cycles) / 4, 20);
  EXPECT_EQ(same.instructions, 1 + 6 * WarpTime::kTrips / 4);
  EXPECT_EQ(one.forLoadsOf(one).cycles, one.cycles);
  // What stands behind the loop, for the iterations left over, has its share.
  const WarpTime rest = Code(GetParam())
                            .add(kLoad, 1, 0)
                            .add(kLoad, 1, 1)
                            .add(kAdd, 4, kNone, 0b11)
                            .branch(-4, 1)
                            .add(kLoad, 1, 0)
                            .add(kAdd, 4, kNone, 0b1)
                            .add(kExit)
                            .time();
  EXPECT_EQ(rest.loadsElsewhere, 1);
  EXPECT_EQ(rest.forLoadsOf(one).inLoop.loads, one.inLoop.loads - 1);
}

INSTANTIATE_TEST_SUITE_P(Generations, WarpTimes, testing::Bool());

TEST(WarpTime, OtherBytesAreNoCode) {
  EXPECT_FALSE(warpTime("", true));
  const std::string nowhere = "\x47\x79" + std::string(5, '\0') + "\x40" + std::string(8, '\0');
  EXPECT_FALSE(warpTime(nowhere, false));
}

} // namespace
} // namespace blockscope::gpu
