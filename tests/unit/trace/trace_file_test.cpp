// Laws of the trace file: what was written is read, and nothing else is believed.
#include "core/trace/trace_envelope.h"
#include "core/trace/trace_reader.h"
#include "core/trace/trace_writer.h"
#include "tests/fuzz/zero_runs.h"
#include "tests/unit/trace/sample_traces.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace blockscope {
namespace {

std::string temporaryPath(const std::string &name) {
  return (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-" + name))
      .string();
}

std::vector<char> bytesOfFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string &path, const std::vector<char> &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

/// Reads all of a file; empty when it is good, else the error.
std::string readAll(const std::string &path) {
  std::string error;
  const auto reader = TraceReader::open(path, error);
  if (!reader)
    return error;
  for (size_t index = 0; index < reader->launchCount(); ++index) {
    const auto launch = reader->readLaunch(index, error);
    if (!launch || !reader->readAccesses(index, *launch, error))
      return error;
  }
  return {};
}

TEST(TraceFileTest, RoundTripKeepsEveryField) {
  const std::string path = temporaryPath("round.h5");
  TraceLaunch launch;
  launch.kernel = "kernel_ü";
  launch.grid = {3, 2, 1};
  launch.parameters = {{"BLOCK", "128"}};
  launch.options = {{"num_warps", "4"}};
  TraceArgument argument;
  argument.name = "x_ptr";
  argument.dtype = "bf16";
  argument.shape = {4, 5};
  argument.strides = {-5, 1};
  argument.elementBytes = 2;
  argument.storageBytes = 40;
  argument.baseOffsetBytes = 30;
  launch.arguments = {argument};
  launch.ops = {{"tl.load", TraceOpKind::Read, 0, 7, 9, "x", "k.py:3:1 outer"}};
  TraceFinding finding;
  finding.code = FindingCode::RaceSameValue;
  finding.severity = Severity::Warning;
  finding.message = "a message";
  finding.site.location.line = 7;
  finding.site.location.column = 9;
  finding.count = 12;
  finding.op = finding.argument = finding.source = 0;
  finding.program = 5;
  finding.json = "{}";
  launch.findings = {finding};
  TraceRun run;
  run.offsetBytes = -6;
  run.innerStrideBytes = -2;
  run.outerStrideBytes = 10;
  run.program = 5;
  run.innerCount = 3;
  run.outerCount = 4;
  run.maskedLanes = 17;
  run.argument = 0;
  run.elementBytes = 2;
  run.kind = TraceAccessKind::Atomic;
  run.flags = kTraceOutsideView | kTraceFirstOfBlock;
  std::string error;
  {
    const auto writer = TraceWriter::create(path, error);
    ASSERT_TRUE(writer) << error;
    EXPECT_EQ(writer->addSource({"k.py", "text\nmore\n", 4}), 0);
    EXPECT_EQ(writer->addSource({"k.py", "text\nmore\n", 4}), 0);
    ASSERT_TRUE(writer->beginLaunch());
    ASSERT_TRUE(writer->appendRuns({&run, 1}));
    ASSERT_TRUE(writer->endLaunch(launch));
    ASSERT_TRUE(writer->close()) << writer->error();
  }
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  ASSERT_EQ(reader->launchCount(), 1U);
  ASSERT_EQ(reader->sources().size(), 1U);
  EXPECT_EQ(reader->sources()[0].text, "text\nmore\n");
  EXPECT_EQ(reader->sources()[0].firstLine, 4);
  const auto back = reader->readLaunch(0, error);
  ASSERT_TRUE(back) << error;
  EXPECT_EQ(back->kernel, "kernel_ü");
  EXPECT_EQ(back->grid, launch.grid);
  EXPECT_EQ(back->parameters[0].value, "128");
  EXPECT_EQ(back->options[0].name, "num_warps");
  EXPECT_EQ(back->arguments[0].shape, argument.shape);
  EXPECT_EQ(back->arguments[0].strides, argument.strides);
  EXPECT_EQ(back->arguments[0].baseOffsetBytes, 30);
  EXPECT_EQ(back->ops[0].callChain, "k.py:3:1 outer");
  EXPECT_EQ(back->findings[0].code, finding.code);
  EXPECT_EQ(back->findings[0].severity, finding.severity);
  EXPECT_EQ(back->findings[0].message, finding.message);
  EXPECT_EQ(back->findings[0].site.location.line, 7);
  EXPECT_EQ(back->findings[0].site.location.column, 9);
  EXPECT_EQ(back->findings[0].json, "{}");
  EXPECT_EQ(back->findings[0].count, 12);
  EXPECT_EQ(back->findings[0].program, 5);
  const auto accesses = reader->readAccesses(0, *back, error);
  ASSERT_TRUE(accesses) << error;
  ASSERT_EQ(accesses->rows, 1U);
  const TraceRun found = (*accesses)[0];
  EXPECT_EQ(found.offsetBytes, run.offsetBytes);
  EXPECT_EQ(found.innerStrideBytes, run.innerStrideBytes);
  EXPECT_EQ(found.outerStrideBytes, run.outerStrideBytes);
  EXPECT_EQ(found.innerCount, run.innerCount);
  EXPECT_EQ(found.outerCount, run.outerCount);
  EXPECT_EQ(found.maskedLanes, run.maskedLanes);
  EXPECT_EQ(found.kind, run.kind);
  EXPECT_EQ(found.flags, run.flags);
}

TEST(TraceFileTest, DetailsOfFindingsComeBack) {
  const std::string path = temporaryPath("findings.h5");
  ASSERT_TRUE(writeFindingsTrace(path));
  std::string error;
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  const std::optional<TraceLaunch> launch = reader->readLaunch(0, error);
  ASSERT_TRUE(launch) << error;
  ASSERT_EQ(launch->findings.size(), 6U);
  const TraceFinding &race = launch->findings[2];
  ASSERT_EQ(race.places.size(), 2U);
  EXPECT_EQ(race.places[0].role, SiteRole::Here);
  EXPECT_EQ(race.places[0].value, "2.5");
  EXPECT_EQ(race.places[1].role, SiteRole::OtherSide);
  EXPECT_EQ(race.places[1].program, 1);
  EXPECT_EQ(race.places[1].lane, "5 of [16]");
  EXPECT_EQ(race.hint, "give each program its own elements");
  EXPECT_EQ(race.elementOffsetBytes, (2 * 16 + 5) * 4);
  const TraceFinding &hole = launch->findings[1];
  ASSERT_EQ(hole.elements.size(), 1U);
  EXPECT_EQ(hole.elements[0].argument, 1);
  EXPECT_EQ(hole.elements[0].innerCount, 4);
  EXPECT_EQ(hole.elements[0].outerCount, 16);
  EXPECT_EQ(hole.elements[0].outerStrideBytes, 64);
  EXPECT_FALSE(hole.isElsewhere);
  ASSERT_EQ(hole.lineShares.size(), 2U);
  EXPECT_EQ(hole.lineShares[0].permille, 620);
  EXPECT_EQ(hole.lineShares[0].what, "a quotient in fp32");
  const TraceFinding &deadlock = launch->findings[4];
  ASSERT_EQ(deadlock.waits.size(), 2U);
  EXPECT_EQ(deadlock.waits[1].program, 5);
  EXPECT_EQ(deadlock.waits[1].source, 0);
  EXPECT_EQ(deadlock.waits[1].line, 12);
  EXPECT_EQ(deadlock.waits[1].holder, 4);
  EXPECT_EQ(deadlock.waits[1].waits, "in line 12 for 'lock_ptr'[1] = 1");
  EXPECT_EQ(deadlock.waits[1].holderText, "taken by program 4 in line 12, which waits, too");
  EXPECT_EQ(deadlock.places[1].role, SiteRole::ChangedAt);
  const TraceFinding &elsewhere = launch->findings[5];
  EXPECT_TRUE(elsewhere.isElsewhere);
  const NamedValues values = {{"row", "65536"}, {"stride", "65536"}, {"wrapped", "0"}};
  EXPECT_EQ(elsewhere.values, values); // in their order
}

TEST(TraceFileTest, RunsPastTheLimitAreCountedAndLeftOut) {
  const std::string path = temporaryPath("limit.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error, 100'000);
  ASSERT_TRUE(writer) << error;
  TraceLaunch launch;
  launch.kernel = "kernel";
  launch.ops.resize(1);
  TraceRun run;
  run.innerCount = 1;
  run.elementBytes = 4;
  const std::vector<TraceRun> runs(70'000, run);
  ASSERT_TRUE(writer->beginLaunch());
  for (int part = 0; part < 3; ++part)
    ASSERT_TRUE(writer->appendRuns(runs));
  ASSERT_TRUE(writer->endLaunch(launch));
  ASSERT_TRUE(writer->close());
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  const std::optional<TraceLaunch> back = reader->readLaunch(0, error);
  ASSERT_TRUE(back) << error;
  EXPECT_EQ(back->droppedRuns, 110'000);
  const std::optional<TraceAccesses> accesses = reader->readAccesses(0, *back, error);
  ASSERT_TRUE(accesses) << error;
  EXPECT_EQ(accesses->rows, 100'000U);
}

TEST(TraceFileTest, ManyChunksFromManyThreadsKeepTheOrderWithinAProgram) {
  const std::string path = temporaryPath("threads.h5");
  constexpr uint32_t kPrograms = 4;
  constexpr uint32_t kRunsEach = 70'000;
  std::string error;
  {
    const auto writer = TraceWriter::create(path, error);
    ASSERT_TRUE(writer) << error;
    ASSERT_TRUE(writer->beginLaunch());
    std::vector<std::thread> threads;
    for (uint32_t program = 0; program < kPrograms; ++program)
      threads.emplace_back([&, program] {
        std::vector<TraceRun> runs(7);
        for (uint32_t index = 0; index < kRunsEach; index += 7) {
          for (uint32_t at = 0; at < 7; ++at) {
            runs[at].program = program;
            runs[at].offsetBytes = index + at;
            runs[at].innerCount = 1;
          }
          writer->appendRuns(runs);
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    TraceLaunch launch;
    launch.kernel = "k";
    launch.grid = {kPrograms, 1, 1};
    launch.ops = {{"tl.load", TraceOpKind::Read, -1, 1, 1, "", ""}};
    ASSERT_TRUE(writer->endLaunch(launch)) << writer->error();
    ASSERT_TRUE(writer->close()) << writer->error();
  }
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  const auto launch = reader->readLaunch(0, error);
  ASSERT_TRUE(launch) << error;
  const auto accesses = reader->readAccesses(0, *launch, error);
  ASSERT_TRUE(accesses) << error;
  ASSERT_EQ(accesses->rows, size_t{kPrograms} * kRunsEach);
  EXPECT_TRUE(accesses->innerCount.isConstant());
  std::vector<int64_t> next(kPrograms, 0);
  for (size_t row = 0; row < accesses->rows; ++row)
    ASSERT_EQ(accesses->offsetBytes[row], next[accesses->program[row]]++);
}

TEST(TraceFileTest, ContiguousAccessesTakeLittleRoom) {
  const std::string path = temporaryPath("large.h5");
  ASSERT_TRUE(writeVectorAddTrace(path, 34'000'000, 1024)); // 102 million element accesses
  EXPECT_LT(std::filesystem::file_size(path), 5'000'000U);
  EXPECT_EQ(readAll(path), "");
}

TEST(TraceFileTest, EveryCutIsAnError) {
  const std::string path = temporaryPath("cut.h5");
  ASSERT_TRUE(writeBrokenTrace(path));
  ASSERT_EQ(readAll(path), "");
  const std::vector<char> whole = bytesOfFile(path);
  for (size_t length = 0; length < whole.size(); length += 1 + whole.size() / 301) {
    writeFile(path, {whole.begin(), whole.begin() + static_cast<long>(length)});
    const std::string error = readAll(path);
    EXPECT_NE(error, "") << "cut to " << length;
    EXPECT_NE(error.find(path), std::string::npos);
  }
}

TEST(TraceFileTest, EveryFlippedByteIsAnError) {
  const std::string path = temporaryPath("flip.h5");
  ASSERT_TRUE(writeViewsTrace(path));
  const std::vector<char> whole = bytesOfFile(path);
  for (size_t at = 0; at < whole.size(); at += at < 128 ? 1 : 1 + whole.size() / 401) {
    std::vector<char> flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x41);
    writeFile(path, flipped);
    EXPECT_NE(readAll(path), "") << "byte " << at;
  }
}

TEST(TraceFileTest, ForeignFilesAreNamedForWhatTheyAre) {
  const std::string path = temporaryPath("foreign.h5");
  EXPECT_NE(readAll(path + "-none").find("No such file"), std::string::npos);
  EXPECT_NE(readAll(::testing::TempDir()).find("is a folder"), std::string::npos);
  writeFile(path, {});
  EXPECT_NE(readAll(path).find("is empty"), std::string::npos);
  writeFile(path, {'h', 'e', 'l', 'l', 'o'});
  EXPECT_NE(readAll(path).find("is no Blockscope trace"), std::string::npos);
  writeFile(path, {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n', 0, 0});
  EXPECT_NE(readAll(path).find("is an HDF5 file"), std::string::npos);
}

TEST(TraceFileTest, AnUnfinishedRecordingSaysSo) {
  const std::string path = temporaryPath("unfinished.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  ASSERT_TRUE(writer) << error;
  EXPECT_NE(readAll(path).find("unfinished"), std::string::npos);
}

TEST(TraceFileTest, ALaunchThatDidNotEndIsLeftOut) {
  const std::string path = temporaryPath("begun.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  ASSERT_TRUE(writer->beginLaunch());
  ASSERT_TRUE(writer->close()) << writer->error();
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(reader->launchCount(), 0U);
}

TEST(TraceFileTest, AnUnwritablePathIsAnErrorWithItsReason) {
  std::string error;
  EXPECT_FALSE(TraceWriter::create("/nonexistent/folder/t.h5", error));
  EXPECT_NE(error.find("No such file or directory"), std::string::npos) << error;
}

/// Writes one launch of one run, and what reading it says; "" when all is well.
std::string problemOfFile(const std::string &path, const TraceRun &run, const TraceLaunch &launch) {
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  writer->beginLaunch();
  writer->appendRuns({&run, 1});
  if (!writer->endLaunch(launch) || !writer->close())
    return writer->error();
  return readAll(path);
}

TraceRun oneElement() {
  TraceRun run;
  run.innerCount = 1;
  return run;
}

TraceLaunch launchOfOps(size_t ops) {
  TraceLaunch launch;
  launch.kernel = "k";
  for (size_t op = 0; op < ops; ++op)
    launch.ops.push_back(
        {"tl.load", TraceOpKind::Read, -1, static_cast<int32_t>(op + 1), 1, "", ""});
  return launch;
}

/// Writes runs with values and reads the values; gives what is wrong with them, or nothing.
std::string problemOfValues(const std::vector<TraceRun> &runs, const TraceValues &values,
                            TraceValues &read) {
  const std::string path = temporaryPath("values.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  writer->beginLaunch();
  writer->appendRuns(runs);
  if (!writer->endLaunch(launchOfOps(1), values) || !writer->close())
    return writer->error();
  const auto reader = TraceReader::open(path, error);
  if (!reader)
    return error;
  const auto accesses = reader->readAccesses(0, reader->readLaunch(0, error).value(), error);
  auto found = reader->readValues(0, *accesses, error);
  if (!found)
    return error;
  read = std::move(*found);
  return {};
}

TEST(TraceFileTest, ValuesComeBackWithTheirRuns) {
  std::vector<TraceRun> runs(3, oneElement());
  runs[1].innerCount = 2;
  runs[0].elementBytes = runs[1].elementBytes = runs[2].elementBytes = 4;
  const TraceValues values = {{0, 1, 1}, {7, -1, 3}, {7, 8, INT64_MIN}, 1};
  TraceValues read;
  ASSERT_EQ(problemOfValues(runs, values, read), "");
  EXPECT_EQ(read.run, values.run);
  EXPECT_EQ(read.before, values.before);
  EXPECT_EQ(read.after, values.after);
  EXPECT_EQ(read.dropped, 1);
  ASSERT_EQ(problemOfValues(runs, {}, read), "");
  EXPECT_TRUE(read.empty());
}

TEST(TraceFileTest, ValuesOfRunsThatWereLeftOutAreLeftOut) {
  std::vector<TraceRun> runs(2, oneElement());
  TraceValues read;
  ASSERT_EQ(problemOfValues(runs, {{0, 1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4}, 5}, read), "");
  EXPECT_EQ(read.run, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(read.dropped, 7);
}

TEST(TraceFileTest, ValuesThatBelongToNoElementAreRefused) {
  std::vector<TraceRun> runs(2, oneElement());
  runs[1].innerCount = 2;
  TraceValues read;
  const auto problem = [&](const std::vector<int64_t> &run, int64_t dropped = 0) {
    const std::vector<int64_t> bits(run.size());
    return problemOfValues(runs, {run, bits, bits, dropped}, read);
  };
  EXPECT_NE(problem({-1}).find("'launches/0/values' names run -1 of 2"), std::string::npos);
  EXPECT_NE(problem({1, 1, 0}).find("names run 0 of 2 behind run 1"), std::string::npos);
  EXPECT_NE(problem({0, 1}).find("has 1 values of run 1, which has 2 elements"), std::string::npos);
  EXPECT_NE(problem({0, 1, 1, 1}).find("has 3 values of run 1"), std::string::npos);
  EXPECT_NE(problem({0}, -4).find("has dropped -4 elements"), std::string::npos);
  runs[0].elementBytes = 16;
  EXPECT_NE(problem({0}).find("elements of 16 bytes"), std::string::npos);
}

TraceLaunch predictedLaunch() {
  TraceLaunch launch = launchOfOps(2);
  launch.gpu.target = {"sm_90a", "H100 SXM", 8, 3'350'000'000'000};
  launch.gpu.peaks = {{"tensor", "fp16", 989'400'000'000'000}, {"vector", "fp32", 1}};
  launch.gpu.traffic = {{1, "cp.async", 16, 3, 96, 1536, 1536}};
  launch.gpu.exchanges = {{-1, 7, 2, "where a block is read from shared memory", 16, 32, 8, 1}};
  launch.gpu.work = {{-1, 9, "tensor", "fp16", int64_t{1} << 40}};
  return launch;
}

TEST(TraceFileTest, WhatAGpuWouldDoComesBack) {
  const std::string path = temporaryPath("gpu.h5");
  const TraceLaunch launch = predictedLaunch();
  ASSERT_EQ(problemOfFile(path, oneElement(), launch), "");
  std::string error;
  const TraceGpu gpu = TraceReader::open(path, error)->readLaunch(0, error).value().gpu;
  EXPECT_EQ(gpu.target.target, "sm_90a");
  EXPECT_EQ(gpu.target.device, "H100 SXM");
  EXPECT_EQ(gpu.target.warps, 8);
  EXPECT_EQ(gpu.target.bytesPerSecond, 3'350'000'000'000);
  ASSERT_EQ(gpu.peaks.size(), 2U);
  EXPECT_EQ(gpu.peaks[0].unit, "tensor");
  EXPECT_EQ(gpu.peaks[0].flopsPerSecond, 989'400'000'000'000);
  ASSERT_EQ(gpu.traffic.size(), 1U);
  EXPECT_EQ(gpu.traffic[0].op, 1);
  EXPECT_EQ(gpu.traffic[0].way, "cp.async");
  EXPECT_EQ(gpu.traffic[0].bytes, 16);
  EXPECT_EQ(gpu.traffic[0].accesses, 3);
  EXPECT_EQ(gpu.traffic[0].requests, 96);
  EXPECT_EQ(gpu.traffic[0].sectors, 1536);
  EXPECT_EQ(gpu.traffic[0].leastSectors, 1536);
  ASSERT_EQ(gpu.exchanges.size(), 1U);
  EXPECT_EQ(gpu.exchanges[0].line, 7);
  EXPECT_EQ(gpu.exchanges[0].column, 2);
  EXPECT_EQ(gpu.exchanges[0].wavefronts, 32);
  EXPECT_EQ(gpu.exchanges[0].leastWavefronts, 8);
  EXPECT_EQ(gpu.exchanges[0].inLoop, 1);
  ASSERT_EQ(gpu.work.size(), 1U);
  EXPECT_EQ(gpu.work[0].line, 9);
  EXPECT_EQ(gpu.work[0].dtype, "fp16");
  EXPECT_EQ(gpu.work[0].flops, int64_t{1} << 40);
}

TEST(TraceFileTest, NumbersOfAGpuThatMakeNoSenseAreRefused) {
  const auto problem = [](const auto &change) {
    TraceLaunch launch = predictedLaunch();
    change(launch.gpu);
    return problemOfFile(temporaryPath("gpu.h5"), oneElement(), launch);
  };
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.traffic[0].op = 2; }).find("'gpu_traffic'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.traffic[0].op = -1; }).find("'gpu_traffic'"),
            std::string::npos);
  EXPECT_NE(
      problem([](TraceGpu &gpu) { gpu.traffic[0].sectors = INT64_MAX; }).find("'gpu_traffic'"),
      std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.traffic[0].bytes = -4; }).find("'gpu_traffic'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.exchanges[0].source = 0; }).find("'gpu_exchanges'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.exchanges[0].wavefronts = -1; }).find("'gpu_exch"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.work[0].flops = -1; }).find("'gpu_work'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.peaks[0].flopsPerSecond = -1; }).find("'gpu_peaks'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.target.warps = 0; }).find("'gpu_target'"),
            std::string::npos);
  EXPECT_NE(problem([](TraceGpu &gpu) { gpu.work.resize(70'000); }).find("has 70000 rows"),
            std::string::npos);
}

TEST(TraceFileTest, RunsThatNameNothingAreRefused) {
  const std::string path = temporaryPath("names.h5");
  const TraceLaunch launch = launchOfOps(1);
  const TraceRun run = oneElement();
  EXPECT_EQ(problemOfFile(path, run, launch), "");
  TraceRun wrong = run;
  wrong.program = 1;
  EXPECT_NE(problemOfFile(path, wrong, launch).find("names program 1 of 1"), std::string::npos);
  wrong = run;
  wrong.op = 3;
  EXPECT_NE(problemOfFile(path, wrong, launch).find("names op 3 of 1"), std::string::npos);
  wrong = run;
  wrong.argument = 0;
  EXPECT_NE(problemOfFile(path, wrong, launch).find("names argument 0 of 0"), std::string::npos);
  wrong = run;
  wrong.offsetBytes = INT64_MAX - 1;
  wrong.innerStrideBytes = INT64_MAX / 2;
  wrong.innerCount = 8;
  EXPECT_NE(problemOfFile(path, wrong, launch).find("longer than any block"), std::string::npos);
}

TEST(TraceFileTest, AProgramThatWaitsIsOneOfTheLaunch) {
  const std::string path = temporaryPath("waits.h5");
  TraceLaunch launch = launchOfOps(1);
  TraceFinding &finding = launch.findings.emplace_back();
  finding.code = FindingCode::Deadlock;
  finding.waits = {{0, -1, 3, -1, "in line 3 for 'x'[0]", ""}};
  EXPECT_EQ(problemOfFile(path, oneElement(), launch), "");
  for (const TraceWait &wait : {TraceWait{launch.programCount(), -1, 3, -1, "", ""},
                                TraceWait{0, -1, 3, launch.programCount(), "", ""},
                                TraceWait{0, 7, 3, -1, "", ""}, TraceWait{0, -1, -3, -1, "", ""}}) {
    launch.findings[0].waits = {wait};
    EXPECT_NE(problemOfFile(path, oneElement(), launch).find("a program that waits in finding 0"),
              std::string::npos);
  }
}

TEST(TraceFileTest, ARunHasNoMoreElementsThanABlock) {
  const std::string path = temporaryPath("long.h5");
  TraceRun run = oneElement();
  run.innerCount = 1024;
  run.outerCount = 1024;
  EXPECT_EQ(problemOfFile(path, run, launchOfOps(1)), "");
  run.outerCount = 1025;
  EXPECT_NE(problemOfFile(path, run, launchOfOps(1)).find("longer than any block"),
            std::string::npos);
  run.innerCount = 0;
  run.outerCount = UINT32_MAX;
  EXPECT_NE(problemOfFile(path, run, launchOfOps(1)).find("longer than any block"),
            std::string::npos);
}

TEST(TraceFileTest, NumbersOfOpsAndArgumentsAreNotCut) {
  const std::string path = temporaryPath("many.h5");
  constexpr size_t kOps = 70'000;
  TraceLaunch launch = launchOfOps(kOps);
  launch.arguments.resize(40'000);
  std::vector<TraceRun> runs(2, oneElement());
  runs[1].op = kOps - 1;
  runs[1].argument = 39'999;
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  ASSERT_TRUE(writer) << error;
  writer->beginLaunch();
  writer->appendRuns(runs);
  ASSERT_TRUE(writer->endLaunch(launch));
  ASSERT_TRUE(writer->close()) << writer->error();
  const auto reader = TraceReader::open(path, error);
  ASSERT_TRUE(reader) << error;
  const auto accesses = reader->readAccesses(0, launch, error);
  ASSERT_TRUE(accesses) << error;
  EXPECT_EQ((*accesses)[1].op, kOps - 1);
  EXPECT_EQ((*accesses)[1].argument, 39'999);
}

TEST(TraceFileTest, MoreProgramsThanATraceCanNumberAreAnError) {
  TraceLaunch launch = launchOfOps(1);
  launch.grid = {1 << 16, 1 << 16, 2};
  EXPECT_NE(
      problemOfFile(temporaryPath("grid.h5"), oneElement(), launch).find("8589934592 programs"),
      std::string::npos);
}

TEST(TraceFileTest, ANameLongerThanATraceCanKeepIsAnErrorThatSaysSo) {
  TraceLaunch launch = launchOfOps(1);
  launch.kernel.assign(60'000, 'k');
  EXPECT_EQ(problemOfFile(temporaryPath("name.h5"), oneElement(), launch), "");
  launch.kernel.assign(60'001, 'k');
  EXPECT_NE(problemOfFile(temporaryPath("name.h5"), oneElement(), launch)
                .find("kkk...' has 60001 bytes; a trace can keep 60000"),
            std::string::npos);
}

TEST(TraceFileTest, AFailedWriteIsAnErrorWithItsReason) {
  const std::string path = temporaryPath("limit.h5");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  ASSERT_TRUE(writer) << error;
  writer->beginLaunch();
  const TraceRun run = oneElement();
  writer->appendRuns({&run, 1});
  const rlimit small = {8192, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  TraceLaunch launch = launchOfOps(1);
  launch.parameters = {{"TEXT", ""}};
  std::minstd_rand random; // what cannot be compressed
  for (int i = 0; i < 100'000; ++i)
    launch.parameters[0].value.push_back(static_cast<char>('!' + random() % 90));
  const bool isWritten = writer->endLaunch(launch) && writer->close();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(isWritten);
  EXPECT_NE(writer->error().find("File too large"), std::string::npos) << writer->error();
}

TEST(TraceFileTest, ArgumentsThatMakeNoSenseAreRefused) {
  const std::string path = temporaryPath("arguments.h5");
  const auto problemOf = [&](const TraceArgument &argument) {
    TraceLaunch launch = launchOfOps(1);
    launch.arguments = {argument};
    return problemOfFile(path, oneElement(), launch);
  };
  TraceArgument argument;
  argument.name = "x_ptr";
  argument.elementBytes = 4;
  EXPECT_EQ(problemOf(argument), "");
  const std::string expected = "extent of argument 'x_ptr' make no sense";
  TraceArgument wrong = argument;
  wrong.baseOffsetBytes = INT64_MIN; // its magnitude is no int64
  EXPECT_NE(problemOf(wrong).find(expected), std::string::npos);
  wrong = argument;
  wrong.shape = {int64_t{1} << 40, 2};
  wrong.strides = {1, INT64_MIN};
  EXPECT_NE(problemOf(wrong).find(expected), std::string::npos);
  wrong = argument; // each dimension could be, their sum is too long
  wrong.shape.assign(5, 2);
  wrong.strides.assign(5, int64_t{1} << 52);
  EXPECT_NE(problemOf(wrong).find(expected), std::string::npos);
}

TEST(TraceFileTest, WhatNeedsTooMuchMemoryIsAnError) {
  const std::string path = temporaryPath("memory.h5");
  ASSERT_TRUE(writeGatherTrace(path, 1'000'000)); // 4 or 8 bytes in a row for each changing column
  std::string error;
  TraceLimits limits;
  limits.machineBytes = 4 << 20;
  const auto reader = TraceReader::open(path, error, limits);
  ASSERT_TRUE(reader) << error;
  const auto launch = reader->readLaunch(0, error);
  ASSERT_TRUE(launch) << error;
  EXPECT_FALSE(reader->readAccesses(0, *launch, error));
  EXPECT_NE(error.find("needs more than 1.0 MiB of memory"), std::string::npos) << error;
}

/// A trace of the corpus of the fuzz target trace_file, as a file.
std::string corpusTrace(const std::string &name) {
  const std::vector<char> input =
      bytesOfFile(std::string(BLK_SOURCE_DIR) + "/tests/fuzz/corpus/trace_file/" + name);
  EXPECT_FALSE(input.empty());
  const std::vector<unsigned char> body = fuzz::expandZeros(
      {reinterpret_cast<const uint8_t *>(input.data()) + 1, input.size() - 1}, 1 << 20);
  const auto crc = static_cast<uint32_t>(crc32(0, body.data(), static_cast<uInt>(body.size())));
  const std::string head = finishedEnvelope(input[0] + 1, kTraceEnvelopeBytes + body.size(), crc);
  std::vector<char> file(head.begin(), head.end());
  file.resize(kTraceEnvelopeBytes);
  file.insert(file.end(), body.begin(), body.end());
  const std::string path = temporaryPath(name + ".h5");
  writeFile(path, file);
  return path;
}

TEST(TraceFileTest, Version1IsStillRead) {
  std::string error;
  std::vector<TraceAccesses> all;
  for (const char *name : {"version1-broken", "version2-broken"}) {
    const auto reader = TraceReader::open(corpusTrace(name), error);
    ASSERT_TRUE(reader) << error;
    const auto launch = reader->readLaunch(0, error);
    ASSERT_TRUE(launch) << error;
    EXPECT_EQ(launch->kernel, "row_sum_kernel");
    EXPECT_EQ(launch->findings.size(), 3U);
    all.push_back(reader->readAccesses(0, *launch, error).value());
  }
  ASSERT_EQ(all[0].rows, 27U);
  ASSERT_EQ(all[1].rows, 27U);
  forEachAccessColumn([&](const char *name, auto, auto column, auto) {
    for (size_t row = 0; row < 27; ++row)
      EXPECT_EQ((all[0].*column)[row], (all[1].*column)[row]) << name << " " << row;
  });
}

} // namespace
} // namespace blockscope
