// What the recorder makes of the machine's events.
#include "sanitizer/trace_recorder.h"

#include "core/trace/trace_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace blockscope {
namespace {

/// A recorder on one launch with tensors x (8 x 16 fp32) and, as a view of a wider buffer, v (4 x
/// 3).
class TraceRecorderTest : public ::testing::Test {
protected:
  TraceRecorderTest() {
    std::string error;
    recorder = std::make_unique<sanitizer::TraceRecorder>(TraceWriter::create(path, error));
    memory.add(allocation("x", {8, 16}, {16, 1}, storage.data(), 8 * 16 * 4));
    memory.add(allocation("v", {4, 3}, {8, 1}, storage.data(), 4 * 8 * 4));
    info.kernel = "kernel";
    info.grid = {4, 1, 1};
    info.metaParameters = {{"BLOCK", "64"}, {"num_warps", "4"}};
    info.files = {"k.py"};
    info.memory = &memory;
    op.name = "tl.load";
    op.location.file = "k.py";
    op.location.line = 1;
    op.location.variable = "x";
  }

  interpreter::Allocation allocation(const char *name, std::vector<int64_t> shape,
                                     std::vector<int64_t> strides, std::byte *host,
                                     int64_t bytes) const {
    interpreter::Allocation made;
    made.info.name = name;
    made.info.dtype = "fp32";
    made.info.elementBytes = 4;
    made.info.storageBytes = bytes;
    made.view = made.storage = host;
    made.storageBytes = bytes;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      made.viewEnd += (shape[dim] - 1) * strides[dim] * 4;
    made.viewEnd += 4;
    made.viewIsDense = strides[0] == shape[1];
    made.info.shape = std::move(shape);
    made.info.strides = std::move(strides);
    return made;
  }

  const interpreter::Allocation &argument(size_t number) const {
    return *memory.arguments()[number];
  }

  interpreter::Access access(const interpreter::Allocation *allocation,
                             llvm::ArrayRef<interpreter::AccessRun> runs, int64_t lanes) const {
    interpreter::Access made{};
    made.op = &op;
    made.kind = AccessKind::Load;
    made.program = 2;
    made.lanes = made.activeLanes = lanes;
    made.elementBytes = 4;
    made.allocation = allocation;
    made.runs = runs;
    return made;
  }

  TraceAccesses readBack() {
    EXPECT_TRUE(recorder->close()) << recorder->error();
    std::string error;
    const auto reader = TraceReader::open(path, error);
    EXPECT_TRUE(reader) << error;
    launch = reader->readLaunch(0, error).value();
    return reader->readAccesses(0, launch, error).value();
  }

  std::string path =
      (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-recorder.h5"))
          .string();
  std::vector<std::byte> storage{4096};
  interpreter::MemoryMap memory;
  interpreter::LaunchInfo info;
  interpreter::OpInfo op;
  TraceLaunch launch;
  std::unique_ptr<sanitizer::TraceRecorder> recorder;
};

TEST_F(TraceRecorderTest, ATileIsOneRun) {
  const interpreter::DeviceAddress base = argument(0).base;
  const interpreter::AccessRun rows[] = {
      {0, 8, base, 4}, {8, 8, base + 64, 4}, {16, 8, base + 128, 4}};
  recorder->onLaunchBegin(info);
  interpreter::Access tile = access(&argument(0), rows, 32);
  tile.activeLanes = 24;
  recorder->onAccess(tile);
  recorder->onProgramEnd(2, 0);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  ASSERT_EQ(accesses.rows, 1U);
  const TraceRun run = accesses[0];
  EXPECT_EQ(run.innerCount, 8U);
  EXPECT_EQ(run.innerStrideBytes, 4);
  EXPECT_EQ(run.outerCount, 3U);
  EXPECT_EQ(run.outerStrideBytes, 64);
  EXPECT_EQ(run.maskedLanes, 8U);
  EXPECT_EQ(run.program, 2U);
  EXPECT_EQ(run.flags, kTraceFirstOfBlock);
  EXPECT_EQ(launch.kernel, "kernel");
  EXPECT_EQ(launch.parameters[0].name, "BLOCK");
  EXPECT_EQ(launch.options[0].name, "num_warps");
  EXPECT_EQ(launch.ops[0].variable, "x");
}

TEST_F(TraceRecorderTest, ValuesAreThoseBeforeAndAfterEachAccess) {
  std::string error;
  recorder.reset(); // it has the file
  recorder = std::make_unique<sanitizer::TraceRecorder>(TraceWriter::create(path, error),
                                                        sanitizer::TraceOptions{.values = true});
  EXPECT_TRUE(recorder->plan().needs.programOrder);
  auto *memoryOfX = reinterpret_cast<uint32_t *>(storage.data());
  memoryOfX[0] = 10;
  memoryOfX[1] = 11;
  const interpreter::DeviceAddress base = argument(0).base;
  const interpreter::AccessRun both[] = {{0, 2, base, 4}};
  recorder->onLaunchBegin(info);
  recorder->onAccess(access(&argument(0), both, 2));
  // Lanes 0 and 2 store to element 0: lane 2 finds what lane 0 has left.
  const interpreter::AccessRun twice[] = {{0, 2, base, 4}, {2, 1, base, 0}};
  const uint32_t stored[] = {20, 21, 22};
  interpreter::Access store = access(&argument(0), twice, 3);
  store.kind = AccessKind::Store;
  store.values = stored;
  recorder->onAccess(store);
  memoryOfX[0] = 22; // the store happens after it is seen
  memoryOfX[1] = 21;
  memoryOfX[0] = 32; // an atomic add of 5 by two lanes happens before
  const interpreter::AccessRun same[] = {{0, 2, base, 0}};
  const uint32_t found[] = {22, 27};
  interpreter::Access add = access(&argument(0), same, 2);
  add.kind = AccessKind::AtomicRmw;
  add.values = found;
  recorder->onAccess(add);
  recorder->onProgramEnd(2, 0);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  const auto reader = TraceReader::open(path, error);
  const TraceValues values = reader->readValues(0, accesses, error).value();
  ASSERT_EQ(accesses.rows, 4U);
  EXPECT_EQ(values.run, (std::vector<int64_t>{0, 0, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values.before, (std::vector<int64_t>{10, 11, 10, 11, 20, 22, 27}));
  EXPECT_EQ(values.after, (std::vector<int64_t>{10, 11, 20, 21, 22, 27, 32}));
  EXPECT_EQ(values.dropped, 0);
}

/// A load of 64 elements by two warps, an element for each thread.
MemoryPlan planOf(const interpreter::OpInfo &op) {
  AccessPlan access;
  access.location = op.location;
  access.instructions = {0};
  for (uint32_t lane = 0; lane < 32; ++lane)
    access.lanes.push_back(lane);
  access.warps = {0, 32};
  MemoryPlan plan;
  plan.accesses = {access};
  return plan;
}

TraceGpu someGpu() {
  TraceGpu gpu;
  gpu.target = {"sm_90a", "", 2, 0};
  return gpu;
}

TEST_F(TraceRecorderTest, SectorsAreThoseOfTheRequestsOfWarps) {
  struct Case {
    interpreter::AccessRun run;
    int64_t requests, sectors, least;
  };
  const interpreter::DeviceAddress base = argument(0).base;
  const Case cases[] = {
      {{0, 64, base, 4}, 2, 8, 8},       // 128 bytes for each warp
      {{0, 64, base + 4, 4}, 2, 10, 8},  // each warp reaches into a fifth sector
      {{0, 64, base, 8}, 2, 16, 8},      // every second element
      {{0, 64, base, 0}, 2, 2, 2},       // one element
      {{0, 16, base, 32}, 1, 16, 2},     // half a warp, a sector for each lane
      {{32, 32, base, 4}, 1, 4, 4},      // the second warp alone
      {{0, 64, base + 252, -4}, 2, 8, 8} // backwards
  };
  for (const Case &each : cases) {
    recorder.reset(); // it has the file
    std::string error;
    recorder = std::make_unique<sanitizer::TraceRecorder>(TraceWriter::create(path, error));
    recorder->predict(planOf(op), someGpu());
    EXPECT_TRUE(recorder->plan().needs.values);
    info.grid = {1, 1, 1};
    recorder->onLaunchBegin(info);
    interpreter::Access made = access(&argument(0), each.run, 64);
    made.program = 0;
    made.activeLanes = each.run.count;
    recorder->onAccess(made);
    recorder->onLaunchEnd();
    readBack();
    ASSERT_EQ(launch.gpu.traffic.size(), 1U);
    const TraceTraffic &traffic = launch.gpu.traffic[0];
    EXPECT_EQ(traffic.bytes, 4);
    EXPECT_EQ(traffic.accesses, 1);
    EXPECT_EQ(traffic.requests, each.requests);
    EXPECT_EQ(traffic.sectors, each.sectors) << each.run.strideBytes;
    EXPECT_EQ(traffic.leastSectors, each.least) << each.run.strideBytes;
  }
}

TEST_F(TraceRecorderTest, APredictionIsOfOneLaunch) {
  recorder->predict(planOf(op), someGpu());
  const interpreter::AccessRun run[] = {{0, 64, argument(0).base, 4}};
  for (int times = 0; times < 2; ++times) {
    info.launchIndex = times;
    recorder->onLaunchBegin(info);
    EXPECT_FALSE(recorder->plan().needs.values);
    recorder->onAccess(access(&argument(0), run, 64));
    recorder->onLaunchEnd();
  }
  readBack();
  EXPECT_TRUE(launch.gpu.isThere());
  std::string error;
  EXPECT_FALSE(TraceReader::open(path, error)->readLaunch(1, error).value().gpu.isThere());
}

TEST_F(TraceRecorderTest, RefusedLanesAreOutsideAndTheRestIsNot) {
  const interpreter::DeviceAddress base = argument(0).base;
  const interpreter::AccessRun inside[] = {{0, 2, base + 504, 4}};
  const interpreter::RefusedLane refused[] = {
      {2, base + 512, &argument(0), interpreter::RefusedLane::Reason::OutOfStorage},
      {3, base + 516, &argument(0), interpreter::RefusedLane::Reason::OutOfStorage},
      {4, 64, nullptr, interpreter::RefusedLane::Reason::Wild}};
  recorder->onLaunchBegin(info);
  interpreter::Access made = access(&argument(0), inside, 8);
  made.activeLanes = 2; // three more were refused, three are masked off
  recorder->onRefusedLanes(made, refused);
  recorder->onAccess(made);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  ASSERT_EQ(accesses.rows, 3U);
  EXPECT_EQ(accesses[0].offsetBytes, 512);
  EXPECT_EQ(accesses[0].innerCount, 2U);
  EXPECT_EQ(accesses[0].flags, kTraceOutsideView | kTraceOutsideStorage | kTraceFirstOfBlock);
  EXPECT_EQ(accesses[0].maskedLanes, 3U);
  EXPECT_EQ(accesses[1].argument, -1);
  EXPECT_EQ(accesses[2].flags, 0);
}

TEST_F(TraceRecorderTest, InsideTheStorageButOutsideTheViewIsMarked) {
  const interpreter::DeviceAddress base = argument(1).base;
  const interpreter::AccessRun rows[] = {{0, 3, base, 4}, {3, 4, base + 32, 4}};
  recorder->onLaunchBegin(info);
  recorder->onAccess(access(&argument(1), rows, 7));
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  ASSERT_EQ(accesses.rows, 2U);
  EXPECT_EQ(accesses[0].flags, kTraceFirstOfBlock);
  EXPECT_EQ(accesses[1].flags, kTraceOutsideView);
  EXPECT_EQ(accesses[1].argument, 1);
}

TEST_F(TraceRecorderTest, AFullyMaskedBlockLeavesItsMaskedLanes) {
  recorder->onLaunchBegin(info);
  interpreter::Access none = access(nullptr, {}, 64);
  none.activeLanes = 0;
  recorder->onAccess(none);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  ASSERT_EQ(accesses.rows, 1U);
  EXPECT_EQ(accesses[0].innerCount, 0U);
  EXPECT_EQ(accesses[0].maskedLanes, 64U);
}

TEST_F(TraceRecorderTest, FindingsGoToTheLaunchTheyName) {
  const interpreter::AccessRun run[] = {{0, 4, argument(0).base, 4}};
  for (int64_t index = 0; index < 2; ++index) {
    info.launchIndex = index;
    recorder->onLaunchBegin(info);
    recorder->onAccess(access(&argument(0), run, 4));
    recorder->onLaunchEnd();
  }
  Finding finding;
  finding.code = FindingCode::OobLoad;
  finding.message = "a load";
  finding.site.location = op.location;
  finding.site.execution.emplace().program = {3, 0, 0};
  finding.element.emplace().tensor = argument(0).info;
  finding.launch.emplace().index = 0;
  recorder->addFindings(sanitizer::CollectedFinding{finding, {}});
  readBack();
  ASSERT_EQ(launch.findings.size(), 1U);
  EXPECT_EQ(launch.findings[0].program, 3);
  EXPECT_EQ(launch.findings[0].op, 0);
  EXPECT_EQ(launch.findings[0].argument, 0);
  EXPECT_EQ(launch.findings[0].site.location.line, 1);
  EXPECT_EQ(launch.findings[0].code, FindingCode::OobLoad);
}

TEST_F(TraceRecorderTest, AnOpPast65535KeepsItsLine) {
  const interpreter::AccessRun run[] = {{0, 4, argument(0).base, 4}};
  op.id = 65'536 + 1; // 16 bits of it are 1
  interpreter::OpInfo other;
  other.id = 1;
  other.name = "tl.store";
  other.location.file = "k.py";
  other.location.line = 7;
  recorder->onLaunchBegin(info);
  interpreter::Access second = access(&argument(0), run, 4);
  second.op = &other;
  recorder->onAccess(access(&argument(0), run, 4));
  recorder->onAccess(second);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  ASSERT_EQ(accesses.rows, 2U);
  EXPECT_EQ(launch.ops[accesses.op[0]].line, 1);
  EXPECT_EQ(launch.ops[accesses.op[1]].line, 7);
}

TEST_F(TraceRecorderTest, WildAddressesFarApartCanBeReadBack) {
  const interpreter::RefusedLane refused[] = {
      {0, 64, nullptr, interpreter::RefusedLane::Reason::Wild},
      {1, uint64_t{1} << 63, nullptr, interpreter::RefusedLane::Reason::Wild},
      {2, 64 + (uint64_t{1} << 63), nullptr, interpreter::RefusedLane::Reason::Wild},
      {3, 16, nullptr, interpreter::RefusedLane::Reason::Wild},
      {4, 32, nullptr, interpreter::RefusedLane::Reason::Wild}};
  recorder->onLaunchBegin(info);
  interpreter::Access made = access(nullptr, {}, 5);
  made.activeLanes = 0;
  recorder->onRefusedLanes(made, refused);
  recorder->onAccess(made);
  recorder->onLaunchEnd();
  const TraceAccesses accesses = readBack();
  uint64_t elements = 0;
  for (size_t row = 0; row < accesses.rows; ++row)
    elements += uint64_t{accesses.innerCount[row]} * accesses.outerCount[row];
  EXPECT_EQ(elements, 5U);
}

} // namespace
} // namespace blockscope
