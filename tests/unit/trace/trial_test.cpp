// A trace beside a check: the check still tries the launch on all threads, and the file holds the
// run that counts.
#include "core/trace/trace_reader.h"
#include "sanitizer/check_session.h"
#include "sanitizer/trace_recorder.h"
#include "tests/unit/interpreter/flat_kernel.h"

#include <filesystem>
#include <mutex>
#include <unistd.h>

namespace blockscope {
namespace {

using interpreter::FlatKernel;
using interpreter::LaunchInfo;
using interpreter::ObserverPlan;

// out[i] = x[i + shift], in blocks of 64.
constexpr const char *kCopy = R"(
func.func @copy(%x: !tl.ptr<i32>, %out: !tl.ptr<i32>, %shift: i32) {
  %c64 = arith.constant 64 : i32
  %me = tl.program_id 0 : i32
  %first = arith.muli %me, %c64 : i32
  %firsts = tl.splat %first : i32 -> tensor<64xi32>
  %lanes = tl.range 0 to 64 : tensor<64xi32>
  %i = arith.addi %firsts, %lanes : tensor<64xi32>
  %shifts = tl.splat %shift : i32 -> tensor<64xi32>
  %j = arith.addi %i, %shifts : tensor<64xi32>
  %xs = tl.splat %x : !tl.ptr<i32> -> tensor<64x!tl.ptr<i32>>
  %xp = tl.addptr %xs, %j : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  %v = tl.load %xp : tensor<64x!tl.ptr<i32>> -> tensor<64xi32>
  %os = tl.splat %out : !tl.ptr<i32> -> tensor<64x!tl.ptr<i32>>
  %op = tl.addptr %os, %i : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  tl.store %op, %v : tensor<64x!tl.ptr<i32>>, tensor<64xi32>
  return
})";
constexpr int kPrograms = 500;

/// Counts runs and the programs of each.
class RunCounter : public interpreter::Observer {
public:
  struct Run {
    bool isTrial;
    int workers;
    int programs = 0;
  };
  ObserverPlan plan() const override {
    ObserverPlan plan;
    plan.repeat = ObserverPlan::Repeat::Accepts;
    return plan;
  }
  void onLaunchBegin(const LaunchInfo &launch) override {
    runs.push_back({launch.isTrial, launch.workers});
  }
  void onProgramEnd(int64_t, int) override {
    const std::lock_guard lock(mutex_);
    ++runs.back().programs;
  }
  std::vector<Run> runs;

private:
  std::mutex mutex_;
};

class TrialTest : public ::testing::Test {
protected:
  /// Runs the kernel under tsan and a trace; returns how many block accesses the trace has.
  int64_t traced(FlatKernel &kernel) {
    std::string error;
    sanitizer::TraceRecorder recorder(TraceWriter::create(path, error));
    const auto watch = [&](interpreter::LaunchState &launch) {
      session.watch(launch);
      launch.observers.add(recorder);
      launch.observers.add(counter);
    };
    EXPECT_TRUE(kernel.runWatched({kPrograms, 1, 1}, 8, watch).succeeded());
    EXPECT_TRUE(recorder.close()) << recorder.error();
    const auto reader = TraceReader::open(path, error);
    EXPECT_TRUE(reader) << error;
    EXPECT_EQ(reader->launchCount(), 1U);
    const auto launch = reader->readLaunch(0, error);
    const auto accesses = reader->readAccesses(0, *launch, error);
    int64_t blocks = 0;
    for (uint64_t row = 0; row < accesses->rows; ++row)
      blocks += ((*accesses)[row].flags & kTraceFirstOfBlock) != 0;
    return blocks;
  }

  std::vector<int32_t> x = std::vector<int32_t>(64 * kPrograms + 64, 1), out = x;
  std::string path =
      (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-trial.h5"))
          .string();
  sanitizer::CheckSession session{{.checks = {"tsan"}}};
  RunCounter counter;
};

TEST_F(TrialTest, ATraceLeavesTheScreenItsRunOnAllThreads) {
  FlatKernel kernel(kCopy);
  ASSERT_EQ(kernel.error, "");
  kernel.tensor(x).tensor(out).scalar(1);
  EXPECT_EQ(traced(kernel), 2 * kPrograms);
  EXPECT_EQ(session.findings().size(), 0U);
  ASSERT_EQ(counter.runs.size(), 1U);
  EXPECT_TRUE(counter.runs[0].isTrial);
  EXPECT_EQ(counter.runs[0].workers, 8);
  EXPECT_EQ(counter.runs[0].programs, kPrograms);
}

TEST_F(TrialTest, TheTraceOfALaunchThatIsDoneAgainHasTheSecondRunOnly) {
  FlatKernel kernel(kCopy);
  kernel.tensor(x).tensor(x).scalar(1); // in place: each program loads an element of the next one
  EXPECT_EQ(traced(kernel), 2 * kPrograms);
  const std::vector<Finding> findings = session.findings();
  ASSERT_EQ(findings.size(), 2U); // between programs, and between the warps of one
  EXPECT_EQ(findings[0].code, FindingCode::RaceReadWrite);
  EXPECT_EQ(findings[1].code, FindingCode::RaceWarpOrder);
  ASSERT_EQ(counter.runs.size(), 2U);
  EXPECT_TRUE(counter.runs[0].isTrial);
  EXPECT_FALSE(counter.runs[1].isTrial);
  EXPECT_EQ(counter.runs[1].workers, 1);
  EXPECT_EQ(counter.runs[1].programs, kPrograms);
}

} // namespace
} // namespace blockscope
