// Laws of comparisons and of folders: what is matched, what differs, what is said of the rest.
#include "core/trace/trace_writer.h"
#include "tests/unit/trace/sample_traces.h"
#include "viz/model/compare_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace blockscope::viz {
namespace {

std::string temporaryPath(const std::string &name) {
  return (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-" + name))
      .string();
}

/// A launch of one op that reads elements of its tensors one by one.
struct SmallLaunch {
  std::string kernel = "kernel";
  std::vector<TraceArgument> tensors;
  /// Of tensor `first`, the byte offset `second`.
  std::vector<std::pair<int, int64_t>> reads;
  std::vector<TraceNamedValue> parameters;
};

TraceArgument tensor(const std::string &name, std::vector<int64_t> shape,
                     std::vector<int64_t> strides) {
  TraceArgument argument;
  argument.name = name;
  argument.dtype = "fp32";
  argument.shape = std::move(shape);
  argument.strides = std::move(strides);
  argument.elementBytes = 4;
  argument.storageBytes = 4096;
  return argument;
}

std::string write(const std::string &name, const std::vector<SmallLaunch> &launches) {
  const std::string path = temporaryPath(name);
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  EXPECT_TRUE(writer) << error;
  for (const SmallLaunch &each : launches) {
    TraceLaunch launch;
    launch.kernel = each.kernel;
    launch.arguments = each.tensors;
    launch.parameters = each.parameters;
    launch.ops = {{"tl.load", TraceOpKind::Read, -1, 1, 1, "", ""}};
    EXPECT_TRUE(writer->beginLaunch());
    for (const auto &[argument, offset] : each.reads) {
      TraceRun run;
      run.argument = argument;
      run.offsetBytes = offset;
      run.innerCount = 1;
      run.innerStrideBytes = 4;
      run.elementBytes = 4;
      run.flags = kTraceFirstOfBlock;
      EXPECT_TRUE(writer->appendRuns({&run, 1}));
    }
    EXPECT_TRUE(writer->endLaunch(launch));
  }
  EXPECT_TRUE(writer->close());
  return path;
}

std::unique_ptr<Comparison> compare(const std::string &a, const std::string &b,
                                    std::optional<size_t> launch = std::nullopt) {
  std::string error;
  auto comparison = Comparison::open(a, b, launch, error);
  EXPECT_TRUE(comparison) << error;
  return comparison;
}

bool says(const Comparison &comparison, const std::string &sentence) {
  return std::find(comparison.notes().begin(), comparison.notes().end(), sentence) !=
         comparison.notes().end();
}

TEST(MatchLaunchesTest, ByNameAndThenByOrder) {
  const auto pairs = matchLaunches({"k", "m", "k", "k"}, {"n", "k", "k", "n"});
  std::vector<std::array<int64_t, 2>> numbers;
  std::vector<std::string> kernels;
  for (const LaunchPair &pair : pairs) {
    numbers.push_back(pair.launch);
    kernels.push_back(pair.kernel);
  }
  EXPECT_EQ(numbers, (std::vector<std::array<int64_t, 2>>{
                         {0, 1}, {1, -1}, {2, 2}, {3, -1}, {-1, 0}, {-1, 3}}));
  EXPECT_EQ(kernels, (std::vector<std::string>{"k", "m", "k", "k", "n", "n"}));
}

TEST(ComparisonTest, ARunDoesNotDifferFromItself) {
  const std::string path = temporaryPath("same.h5");
  ASSERT_TRUE(writeBrokenTrace(path));
  const auto comparison = compare(path, path);
  EXPECT_TRUE(comparison->notes().empty());
  ASSERT_EQ(comparison->tensors().size(), 2U);
  for (size_t tensor = 0; tensor < 2; ++tensor) {
    const DifferenceTotals *totals = comparison->totals(tensor, HeatMode::Both);
    ASSERT_NE(totals, nullptr);
    EXPECT_EQ(totals->largest, 0);
    EXPECT_EQ(totals->more + totals->fewer, 0U);
    EXPECT_GT(totals->equal, 0U);
  }
}

TEST(ComparisonTest, DifferencesAreCountedWithTheirSign) {
  const std::vector<TraceArgument> tensors = {tensor("x", {2, 3}, {3, 1})};
  const auto comparison =
      compare(write("a.h5", {{"kernel", tensors, {{0, 0}, {0, 0}, {0, 4}, {0, 24}}, {}}}),
              write("b.h5", {{"kernel", tensors, {{0, 4}, {0, 8}, {0, 8}, {0, 8}}, {}}}));
  const DifferenceMap *map = comparison->difference(0);
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(map->at(-1, {0, 0}).difference(HeatMode::Reads), 2);
  EXPECT_EQ(map->at(-1, {0, 1}).difference(HeatMode::Reads), 0);
  EXPECT_EQ(map->at(-1, {0, 2}).difference(HeatMode::Reads), -3);
  EXPECT_EQ(map->at(-1, {0, 2}).difference(HeatMode::Writes), 0);
  EXPECT_FALSE(map->at(-1, {1, 0}).isTouched(HeatMode::Both));
  EXPECT_EQ(map->at(-1, {2, 0}).difference(HeatMode::Reads), 1); // outside, in A
  const DifferenceTotals &totals = map->totals(HeatMode::Both);
  EXPECT_EQ(totals.more, 1U);
  EXPECT_EQ(totals.fewer, 1U);
  EXPECT_EQ(totals.equal, 1U);
  EXPECT_EQ(totals.largest, 3);
  EXPECT_FALSE(totals.areShared); // only A accessed it
  EXPECT_EQ(csvOf(*comparison, firstView(*comparison), CompareTable::Heat),
            "index0,index1,a_loads,a_stores,a_atomics,b_loads,b_stores,b_atomics,"
            "read_difference,write_difference,inside\n"
            "0,0,2,0,0,0,0,0,2,0,1\n"
            "0,1,1,0,0,1,0,0,0,0,1\n"
            "0,2,0,0,0,3,0,0,-3,0,1\n"
            "2,0,1,0,0,0,0,0,1,0,0\n");
}

TEST(ComparisonTest, MoreOftenIsNotAlone) {
  const std::vector<TraceArgument> tensors = {tensor("x", {2, 3}, {3, 1})};
  const auto comparison = compare(write("a.h5", {{"kernel", tensors, {{0, 0}, {0, 0}}, {}}}),
                                  write("b.h5", {{"kernel", tensors, {{0, 0}, {0, 4}}, {}}}));
  const DifferenceTotals &totals = *comparison->totals(0, HeatMode::Both);
  EXPECT_EQ(totals.more, 1U);
  EXPECT_EQ(totals.fewer, 1U);
  EXPECT_TRUE(totals.areShared); // B accessed the first one, too
  EXPECT_FALSE(comparison->totals(0, HeatMode::Writes)->areShared);
}

TEST(ComparisonTest, ElementsOfOtherStridesAreMatchedByTheirIndex) {
  // Element [1, 2] is at byte 20 of one and at byte 20 = (1 + 2 * 2) * 4 of the other.
  const auto comparison = compare(
      write("rows.h5", {{"kernel", {tensor("x", {2, 3}, {3, 1})}, {{0, 4}, {0, 20}}, {}}}),
      write("columns.h5", {{"kernel", {tensor("x", {2, 3}, {1, 2})}, {{0, 8}, {0, 20}}, {}}}));
  EXPECT_EQ(comparison->totals(0, HeatMode::Both)->largest, 0);
  EXPECT_EQ(comparison->totals(0, HeatMode::Both)->equal, 2U);
  EXPECT_TRUE(says(*comparison, "'x' has the strides [3, 1] in A, [1, 2] in B; elements are "
                                "matched by their index."));
}

TEST(ComparisonTest, WhatDoesNotMatchIsSaid) {
  const TraceArgument x = tensor("x", {2, 3}, {3, 1});
  const auto comparison = compare(
      write("one.h5", {{"kernel", {x, tensor("y", {4}, {1})}, {{0, 0}}, {{"BLOCK", "64"}}},
                       {"kernel", {x}, {{0, 0}}, {}},
                       {"only_a", {x}, {{0, 0}}, {}}}),
      write("other.h5", {{"kernel", {tensor("x", {2, 4}, {4, 1})}, {{0, 0}}, {{"BLOCK", "32"}}}}));
  EXPECT_TRUE(
      says(*comparison, "A has 2 launches of 'kernel', B has 1: the last 1 of A has no partner."));
  EXPECT_TRUE(says(*comparison, "Only A launches 'only_a': 1 launch."));
  EXPECT_TRUE(says(*comparison, "Only A has the tensor 'y'."));
  EXPECT_TRUE(says(*comparison, "'x' has the shape [2, 3] in A, [2, 4] in B: there is no "
                                "difference of these."));
  EXPECT_TRUE(says(*comparison, "BLOCK is 64 in A, 32 in B."));
  EXPECT_EQ(comparison->difference(0), nullptr);
  EXPECT_EQ(comparison->tensors()[1].argument, (std::array<int, 2>{1, -1}));
  EXPECT_EQ(comparison->nextPair(1), std::nullopt);
  EXPECT_EQ(csvOf(*comparison, firstView(*comparison), CompareTable::Launches),
            "kernel,a_launch,b_launch\nkernel,0,0\nkernel,1,\nonly_a,2,\n");
}

TEST(ComparisonTest, RunsWithoutACommonKernelAreAnError) {
  const TraceArgument x = tensor("x", {4}, {1});
  const std::string a = write("f.h5", {{"f", {x}, {{0, 0}}, {}}});
  const std::string b = write("g.h5", {{"g", {x}, {{0, 0}}, {}}});
  std::string error;
  EXPECT_FALSE(Comparison::open(a, b, std::nullopt, error));
  EXPECT_EQ(error, "the two runs have no kernel in common: A launches 'f', B 'g'");
  EXPECT_FALSE(Comparison::open(a, a, 3, error));
  EXPECT_EQ(error, "A has no launch 3; it holds 1");
}

/// The picture of a large tensor has, in each pixel, the largest difference below it.
TEST(DifferenceMapTest, AReducedPictureLosesNoDifference) {
  const std::vector<TraceArgument> tensors = {tensor("x", {512, 512}, {512, 1})};
  const auto comparison = compare(
      write("wide.h5", {{"kernel", tensors, {{0, 4 * (511 * 512 + 3)}, {0, 0}}, {}}}),
      write("wide2.h5",
            {{"kernel", tensors, {{0, 4 * (200 * 512 + 300)}, {0, 4 * (200 * 512 + 300)}}, {}}}));
  const DifferenceMap *map = comparison->difference(0);
  ASSERT_NE(map, nullptr);
  DifferenceRequest request;
  request.area = {{0, 0, 512, 512}, 64, 64};
  const std::vector<Rgba> pixels = renderDifference(*map, request);
  const DifferenceScale scale(2, false, DifferenceColors::BlueOrange);
  EXPECT_EQ(pixels[63 * 64], scale.color(1));
  EXPECT_EQ(pixels[0], scale.color(1));
  EXPECT_EQ(pixels[25 * 64 + 37], scale.color(-2));
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), kUntouchedColor), 64 * 64 - 3);
}

TEST(DifferenceMapTest, TheCodeOrdersDifferencesByTheirSize) {
  const auto code = [](uint32_t a, uint32_t b) {
    return DifferenceMap::encoded({{a, 0, 0}, {b, 0, 0}}, HeatMode::Reads, {3, 4});
  };
  EXPECT_EQ(code(0, 0), 0U);
  EXPECT_LT(code(0, 0), code(5, 5));
  EXPECT_LT(code(5, 5), code(6, 5));
  EXPECT_LT(code(6, 5), code(5, 7));
  EXPECT_LT(code(5, 7), code(9, 5));
  const DifferenceScale scale(4, false, DifferenceColors::BlueOrange);
  EXPECT_EQ(scale.colorOfCode(code(3, 1)), scale.color(2));
  EXPECT_EQ(scale.colorOfCode(code(1, 3)), scale.color(-2));
  EXPECT_EQ(scale.colorOfCode(code(1, 1)), scale.color(0));
  EXPECT_NE(scale.color(2), scale.color(-2));
}

/// Where as many elements have one more in A as in B, neither sign prevails in a small picture.
TEST(DifferenceMapTest, DifferencesOfOneSizeAreDrawnByLot) {
  const std::vector<TraceArgument> tensors = {tensor("x", {128, 128}, {128, 1})};
  std::array<std::vector<std::pair<int, int64_t>>, 2> reads;
  for (int64_t element = 0; element < 128 * 128; ++element)
    reads[(element / 128 + element) % 2].emplace_back(0, 4 * element);
  const auto comparison = compare(write("even.h5", {{"kernel", tensors, reads[0], {}}}),
                                  write("odd.h5", {{"kernel", tensors, reads[1], {}}}));
  DifferenceRequest request;
  request.area = {{0, 0, 128, 128}, 32, 32};
  const std::vector<Rgba> pixels = renderDifference(*comparison->difference(0), request);
  const DifferenceScale scale(1, false, DifferenceColors::BlueOrange);
  const auto more = std::count(pixels.begin(), pixels.end(), scale.color(1));
  const auto fewer = std::count(pixels.begin(), pixels.end(), scale.color(-1));
  EXPECT_EQ(more + fewer, 32 * 32);
  EXPECT_GT(more, 32 * 32 / 3);
  EXPECT_GT(fewer, 32 * 32 / 3);
}

TEST(CompareCommandsTest, BothRunsFollowOneChoice) {
  const std::string path = temporaryPath("both.h5");
  ASSERT_TRUE(writeBrokenTrace(path));
  const auto comparison = compare(path, path);
  CompareView view = firstView(*comparison);
  view.shared.region = {0, 0, 100, 13};
  apply(Command::Right, *comparison, view);
  apply(Command::Right, *comparison, view);
  apply(Command::ZoomIn, *comparison, view);
  apply(Command::NextProgram, *comparison, view);
  for (const Side side : kSides) {
    const Selection selection = selectionOf(*comparison, view, side);
    EXPECT_EQ(selection.cell, (Cell{0, 1}));
    EXPECT_LT(selection.region.width(), 100);
    EXPECT_EQ(selection.program, 0);
  }
  apply(Command::NextTensor, *comparison, view);
  EXPECT_EQ(view.tensor, 1U);
  EXPECT_TRUE(view.shared.isFitted);
  apply(Command::NextFinding, *comparison, view);
  EXPECT_NE(view.shared.notice.find("this key is for one run"), std::string::npos);
}

TEST(TraceFolderTest, ListsTracesAndNamesWhatIsBroken) {
  const std::filesystem::path folder = temporaryPath("folder");
  std::filesystem::create_directories(folder / "below.h5");
  ASSERT_TRUE(writeBrokenTrace((folder / "b.h5").string()));
  ASSERT_TRUE(writeViewsTrace((folder / "no_ending").string()));
  std::ofstream(folder / "a.h5") << "no trace";
  std::ofstream(folder / "notes.txt") << "no trace";
  std::string error;
  const auto list = TraceFolder::open(folder.string(), error);
  ASSERT_TRUE(list) << error;
  ASSERT_EQ(list->entries().size(), 3U);
  EXPECT_FALSE(list->entries()[1].isRead);
  int read = 0;
  while (list->readNext())
    ++read;
  EXPECT_EQ(read, 3);
  EXPECT_EQ(list->entries()[0].name, "a.h5");
  EXPECT_EQ(list->entries()[0].problem.find("is no Blockscope trace"), 0U)
      << list->entries()[0].problem;
  EXPECT_EQ(list->entries()[1].errors, 2U);
  EXPECT_EQ(findingsText(list->entries()[1]), "2 errors, 1 warning");
  EXPECT_EQ(list->entries()[2].launches, 2U);
  FolderView view;
  apply(Command::Down, *list, view);
  EXPECT_EQ(view.row, 1U);
  apply(Command::End, *list, view);
  apply(Command::Down, *list, view);
  EXPECT_EQ(view.row, 2U);
  apply(Command::Choose, *list, view);
  EXPECT_EQ(view.shared.wish, Wish::OpenTrace);
  std::filesystem::create_directories(folder / "below.h5" / "empty");
  EXPECT_FALSE(TraceFolder::open((folder / "below.h5" / "empty").string(), error));
  EXPECT_NE(error.find("holds no trace file"), std::string::npos);
}

} // namespace
} // namespace blockscope::viz
