// Laws of the trace model: counts, planes, footprints, stories, choices.
#include "core/trace/trace_check.h"
#include "core/trace/trace_writer.h"
#include "tests/unit/trace/sample_traces.h"
#include "viz/model/commands.h"
#include "viz/model/csv.h"
#include "viz/model/finding_story.h"
#include "viz/model/gpu_view.h"
#include "viz/model/selection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>
#include <unistd.h>

namespace blockscope::viz {
namespace {

std::string temporaryPath(const std::string &name) {
  return (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-" + name))
      .string();
}

std::unique_ptr<TraceModel> open(const std::string &path, size_t launch = 0) {
  std::string error;
  auto model = TraceModel::open(path, launch, error);
  EXPECT_TRUE(model) << error;
  return model;
}

std::unique_ptr<TraceModel> brokenModel() {
  const std::string path = temporaryPath("broken.h5");
  EXPECT_TRUE(writeBrokenTrace(path));
  return open(path);
}

TraceArgument tensor(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  TraceArgument argument;
  argument.name = "x";
  argument.shape = std::move(shape);
  argument.strides = std::move(strides);
  argument.elementBytes = 4;
  return argument;
}

TEST(TensorLayoutTest, EveryElementHasItsSlotAndIndex) {
  for (const TraceArgument &argument :
       {tensor({3, 4}, {4, 1}), tensor({3, 4}, {1, 3}), tensor({3, 4}, {-7, 1}),
        tensor({2, 1, 5}, {16, 3, 2}), tensor({6}, {-1}), tensor({}, {})}) {
    const TensorLayout layout(argument);
    std::vector<int64_t> index(argument.shape.size(), 0);
    for (bool more = true; more;) {
      int64_t element = 0;
      for (size_t dim = 0; dim < index.size(); ++dim)
        element += index[dim] * argument.strides[dim];
      const int64_t slot = layout.slotOf(element * 4);
      EXPECT_TRUE(layout.isElement(slot));
      EXPECT_EQ(layout.indexOf(slot), index);
      EXPECT_EQ(layout.offsetBytesOf(slot), element * 4);
      more = false;
      for (size_t dim = index.size(); dim-- > 0 && !more;) {
        more = ++index[dim] < argument.shape[dim];
        if (!more)
          index[dim] = 0;
      }
    }
  }
}

TEST(TensorLayoutTest, GapsOfAStridedViewAreNoElements) {
  const TensorLayout layout(tensor({8, 5}, {16, 1}));
  EXPECT_FALSE(layout.isDense());
  EXPECT_TRUE(layout.isElement(16 * 3 + 4));
  EXPECT_FALSE(layout.isElement(16 * 3 + 5));
  EXPECT_FALSE(layout.isElement(-1));
}

TEST(PlaneTest, CellsAndSlotsAreInverse) {
  for (const TraceArgument &argument :
       {tensor({100}, {1}), tensor({100}, {3}), tensor({5, 7}, {7, 1}), tensor({5, 7}, {1, 5}),
        tensor({2, 3, 4}, {12, 4, 1}), tensor({2, 2, 3, 4}, {24, 12, 4, 1})}) {
    const TensorLayout layout(argument);
    for (int64_t slice = -1; slice < 2; ++slice) {
      const Plane plane(layout, slice);
      for (int64_t row = 0; row < plane.rows(); ++row)
        for (int64_t column = 0; column < plane.columnsOf(row); ++column) {
          const Cell cell{row, column};
          ASSERT_TRUE(layout.isElement(plane.slotOf(cell)));
          EXPECT_EQ(plane.cellOf(plane.slotOf(cell)), cell);
        }
    }
  }
}

TEST(PlaneTest, PlacesPastTheEndAreBelowAndBesideTheTensor) {
  const TensorLayout dense(tensor({5, 7}, {7, 1}));
  EXPECT_EQ(Plane(dense, -1).cellOf(35), (Cell{5, 0}));
  EXPECT_EQ(Plane(dense, -1).cellOf(-1), (Cell{-1, 6}));
  const TensorLayout view(tensor({8, 5}, {16, 1}));
  EXPECT_EQ(Plane(view, -1).cellOf(16 * 2 + 6), (Cell{2, 6}));
  const TensorLayout vector(tensor({13}, {1}));
  EXPECT_EQ(Plane(vector, -1).cellOf(13), (Cell{1, 0}));
}

TEST(TraceModelTest, CountsEveryElementOfAVectorAdd) {
  const std::string path = temporaryPath("add.h5");
  ASSERT_TRUE(writeVectorAddTrace(path, 5000, 1024));
  const auto model = open(path);
  EXPECT_EQ(model->total().loads, 10000U);
  EXPECT_EQ(model->total().stores, 5000U);
  EXPECT_EQ(model->total().outside, 0U);
  EXPECT_EQ(model->total().masked, 3U * 120);
  EXPECT_EQ(model->lineCounts(0, 12).loads, 5000U);
  EXPECT_EQ(model->programCounts()[4].accesses, 3U * 904);
  for (int64_t slot = 0; slot < 5000; ++slot) {
    ASSERT_EQ(model->heat(0).value(slot, HeatMode::Reads), 1U);
    ASSERT_EQ(model->heat(2).value(slot, HeatMode::Writes), 1U);
  }
  EXPECT_EQ(model->heat(2).maximum(HeatMode::Reads), 0U);
}

TEST(TraceModelTest, TilesOfAMatmulAreReadOncePerTileOfTheOther) {
  const std::string path = temporaryPath("matmul.h5");
  ASSERT_TRUE(writeMatmulTrace(path, 128));
  const auto model = open(path);
  for (int64_t slot = 0; slot < 128 * 128; ++slot) {
    ASSERT_EQ(model->heat(0).value(slot, HeatMode::Both), 4U);
    ASSERT_EQ(model->heat(2).value(slot, HeatMode::Both), 1U);
  }
  const HeatMap &footprint = model->footprint(0, {1 + 4 * 2, -1});
  EXPECT_EQ(footprint.value(32 * 128, HeatMode::Both), 1U); // rows 32 to 63
  EXPECT_EQ(footprint.value(31 * 128, HeatMode::Both), 0U);
}

TEST(TraceModelTest, AccessesOutsideAreCountedAndPlaced) {
  const auto model = brokenModel();
  EXPECT_EQ(model->total().outside, 29U);
  EXPECT_EQ(model->heat(0).outsideAccesses(), 28U);
  EXPECT_EQ(model->programCounts()[12].outside, 28U);
  EXPECT_EQ(model->programCounts()[0].outside, 1U);
  const OutsideCells &outside = model->outsideCells(0, -1);
  ASSERT_EQ(outside.cells.size(), 28U);
  EXPECT_EQ(outside.cells[0].cell, (Cell{13, 0}));
  EXPECT_EQ(outside.content.bottom, 14);
  EXPECT_EQ(model->outsideCells(1, -1).cells[0].cell, (Cell{-1, 12}));
}

TEST(TraceModelTest, AViewOfAWiderBufferShowsTheColumnsBeside) {
  const std::string path = temporaryPath("views.h5");
  ASSERT_TRUE(writeViewsTrace(path));
  const auto model = open(path, 1);
  EXPECT_EQ(model->launchCount(), 2U);
  EXPECT_EQ(model->total().outside, 16U);
  EXPECT_EQ(model->heat(0).value(16 * 7 + 4, HeatMode::Writes), 1U);
  EXPECT_EQ(model->outsideCells(0, -1).content.right, 7);
}

TEST(TraceModelTest, TheStoryOfAnElementNamesProgramsAndOps) {
  const auto model = brokenModel();
  const ElementStory &story = model->storyOf(0, 105); // row 1, column 5: rows 0 and 1 read it
  EXPECT_EQ(story.counts.loads, 2U);
  EXPECT_EQ(story.programs, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(story.ops.size(), 1U);
  EXPECT_EQ(story.ops[0].first, 0);
  EXPECT_EQ(model->storyOf(0, 1300).programs, (std::vector<uint32_t>{12}));
}

TEST(TraceModelTest, StoriesAgreeWithHeatMaps) {
  const std::string path = temporaryPath("gather.h5");
  ASSERT_TRUE(writeGatherTrace(path, 200'000));
  const auto model = open(path);
  for (int64_t slot = 0; slot < 1'000'000; slot += 99'991)
    EXPECT_EQ(model->storyOf(0, slot).counts.loads, model->heat(0).value(slot, HeatMode::Reads));
}

TEST(HistoryTest, AccessesToAnElementComeInTheirOrder) {
  const auto model = brokenModel();
  const ElementHistory &history = model->history(0, 105); // row 1, column 5: rows 0 and 1 read it
  ASSERT_EQ(history.count, 2U);
  ASSERT_EQ(history.entries.size(), 2U);
  EXPECT_EQ(history.entries[0].program, 0U);
  EXPECT_EQ(history.entries[1].program, 1U);
  EXPECT_LT(history.entries[0].row, history.entries[1].row);
  EXPECT_EQ(history.entries[0].element, 105U);
  EXPECT_EQ(history.entries[1].element, 5U);
  EXPECT_FALSE(history.entries[0].hasValues);
}

TEST(HistoryTest, HistoriesAgreeWithHeatMaps) {
  const std::string path = temporaryPath("history.h5");
  ASSERT_TRUE(writeMatmulTrace(path, 64));
  const auto model = open(path);
  for (const int tensor : model->tensors())
    for (int64_t slot = 0; slot < 64 * 64; slot += 331) {
      const ElementHistory &history = model->history(tensor, slot);
      EXPECT_EQ(history.count, model->heat(tensor).value(slot, HeatMode::Both));
      for (const HistoryEntry &entry : history.entries) {
        const TraceRun run = model->accesses()[entry.row];
        const int64_t offset = run.offsetBytes +
                               entry.element / run.innerCount * run.outerStrideBytes +
                               entry.element % run.innerCount * run.innerStrideBytes;
        EXPECT_EQ(model->layout(tensor).slotOf(offset), slot);
      }
    }
}

TEST(HistoryTest, AnEntryBringsItsProgramOpAndLine) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  apply(Command::FocusHistory, *model, selection);
  EXPECT_EQ(selection.drawer, PanelKind::History);
  selectCell(*model, selection, {1, 5});
  apply(Command::Down, *model, selection);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.historyEntry, 1);
  EXPECT_EQ(selection.program, 1);
  EXPECT_EQ(selection.op, 0);
  EXPECT_EQ(selection.line, 10);
  EXPECT_EQ(selection.cell, (Cell{1, 5}));
  selectCell(*model, selection, {1, 6});
  EXPECT_EQ(selection.historyEntry, -1);
  apply(Command::FocusHistory, *model, selection);
  EXPECT_FALSE(selection.drawer);
}

/// Holds counts, maxima and places outside to those that are counted from the start.
void expectCountsOf(const TraceModel &model, int argument, HeatMode mode, TimedHeat &timed,
                    TimeRange range, BlockShifts shifts) {
  const TensorLayout &layout = model.layout(argument);
  const Plane &plane = model.plane(argument, -1);
  const HeatMap heat(layout, model.accesses(), argument, {}, {{range.begin, range.end}});
  int wrong = 0;
  for (int64_t slot = 0; slot < layout.slotCount(); ++slot)
    wrong += timed.value(slot) != heat.value(slot, mode) && layout.isElement(slot) ? 1 : 0;
  EXPECT_EQ(wrong, 0) << range.begin << " to " << range.end;
  for (const OutsidePlace &place : heat.outside())
    EXPECT_EQ(timed.outsideValue(place.slot), place.counts.of(mode));
  const ReducedPlane expected = ReducedPlanes(plane, heat, mode).get(shifts.row, shifts.column);
  EXPECT_EQ(timed.reduced(shifts).values, expected.values) << range.begin << " to " << range.end;
}

TEST(TimedHeatTest, AnyWayToARangeGivesItsCounts) {
  constexpr BlockShifts kShifts{1, 2};
  const std::string path = temporaryPath("timed.h5");
  const std::vector<bool (*)(const std::string &)> writers = {
      [](const std::string &to) { return writeMatmulTrace(to, 64); }, writeBrokenTrace,
      writeViewsTrace, [](const std::string &to) { return writeGatherTrace(to, 3000); }};
  std::mt19937 random(7);
  for (const auto writer : writers) {
    ASSERT_TRUE(writer(path));
    for (size_t launch = 0; launch < (writer == writeViewsTrace ? 2 : 1); ++launch) {
      const auto model = open(path, launch);
      const size_t rows = model->accesses().rows;
      ASSERT_GT(rows, 0U);
      for (const int argument : model->tensors())
        for (const HeatMode mode : {HeatMode::Reads, HeatMode::Writes, HeatMode::Both}) {
          TimedHeat timed(model->layout(argument), model->plane(argument, -1), model->accesses(),
                          argument, mode);
          timed.reduced(kShifts);
          for (int step = 0; step < 8; ++step) {
            const size_t first = random() % (rows + 1);
            const size_t second = random() % (rows + 1);
            const TimeRange range = {std::min(first, second), std::max(first, second)};
            EXPECT_TRUE(timed.goTo(range));
            EXPECT_TRUE(timed.isAt(range));
            expectCountsOf(*model, argument, mode, timed, range, kShifts);
          }
        }
    }
  }
}

TEST(TimedHeatTest, WithoutTimeItComesThereInParts) {
  const std::string path = temporaryPath("parts.h5");
  ASSERT_TRUE(writeVectorAddTrace(path, 200'000, 1024));
  const auto model = open(path);
  TimedHeat timed(model->layout(0), model->plane(0, -1), model->accesses(), 0, HeatMode::Reads);
  const TimeRange whole = {0, model->accesses().rows};
  int parts = 1;
  for (; !timed.goTo(whole, std::chrono::nanoseconds(0)); ++parts)
    ASSERT_LT(parts, 1000);
  EXPECT_GT(parts, 4); // of 200 000 elements, 2^14 at a time and a run more
  EXPECT_LT(parts, 20);
  EXPECT_EQ(timed.value(199'999), 1U);
  while (!timed.goTo({10, 10}, std::chrono::nanoseconds(0))) {
  }
  for (int64_t slot = 0; slot < 200'000; slot += 7)
    ASSERT_EQ(timed.value(slot), 0U);
}

TEST(TimedHeatTest, APictureOfAMomentShowsWhatHasHappened) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  selection.region = {0, 0, 100, 14};
  const auto colorOf = [&](int row, int column) {
    const auto pixels = renderHeat(*model, selection.heatRequest(200, 140));
    return pixels[static_cast<size_t>(row * 10 + 5) * 200 + column * 2 + 1];
  };
  const Rgba twice = colorOf(1, 5), outside = colorOf(13, 5);
  EXPECT_EQ(outside, kOutsideColor);
  selectTime(*model, selection, 2); // the load and the store of program 0
  EXPECT_NE(colorOf(0, 5), kUntouchedColor);
  EXPECT_NE(colorOf(1, 5), kUntouchedColor);
  EXPECT_NE(colorOf(1, 5), twice);
  EXPECT_EQ(colorOf(1, 50), kUntouchedColor);
  EXPECT_NE(colorOf(13, 5), kOutsideColor);
  selectTime(*model, selection, model->accesses().rows);
  EXPECT_EQ(colorOf(1, 5), twice);
  EXPECT_EQ(colorOf(13, 5), kOutsideColor);
}

TEST(TimedHeatTest, CountsOfAMomentHaveColoursOfTheirOwn) {
  const std::string path = temporaryPath("even.h5");
  ASSERT_TRUE(writeMatmulTrace(path, 128)); // each element is read four times
  const auto model = open(path);
  Selection selection = firstSelection(*model);
  selectTensor(*model, selection, 0);
  selection.region = {0, 0, 128, 128};
  const auto colors = [&] {
    const auto pixels = renderHeat(*model, selection.heatRequest(128, 128));
    return std::set<Rgba>(pixels.begin(), pixels.end()).size();
  };
  EXPECT_EQ(colors(), 1U);
  selectTime(*model, selection, model->accesses().rows * 5 / 8);
  EXPECT_GT(colors(), 1U);
}

TEST(CommandsTest, TimeStepsOverAccessesOfTheTensor) {
  const auto model = brokenModel(); // load and store in turns, of 13 programs; the last reads more
  Selection selection = firstSelection(*model);
  ASSERT_EQ(selection.tensor, 0);
  apply(Command::TimeForward, *model, selection);
  EXPECT_EQ(selection.time.mode, TimeMode::UpTo);
  EXPECT_EQ(selection.timeRange(), (TimeRange{0, 1}));
  apply(Command::TimeForward, *model, selection);
  EXPECT_EQ(selection.time.at, 3U);
  apply(Command::TimeBack, *model, selection);
  EXPECT_EQ(selection.time.at, 1U);
  apply(Command::TimeBack, *model, selection);
  EXPECT_EQ(selection.time.at, 0U);
  apply(Command::TogglePlay, *model, selection);
  EXPECT_TRUE(selection.time.isPlaying);
  apply(Command::CycleTime, *model, selection);
  EXPECT_EQ(selection.time.mode, TimeMode::Around);
  EXPECT_EQ(selection.time.window, 1U); // a twentieth of 27
  apply(Command::WidenWindow, *model, selection);
  apply(Command::WidenWindow, *model, selection);
  selectTime(*model, selection, 10);
  EXPECT_EQ(selection.timeRange(), (TimeRange{8, 12}));
  apply(Command::CycleTime, *model, selection);
  EXPECT_FALSE(selection.timeRange());
  EXPECT_FALSE(selection.time.isPlaying);
}

/// The broken kernel with a prediction: 1000 flops in line 11.
std::unique_ptr<TraceModel> predictedModel() {
  const auto plain = brokenModel();
  TraceLaunch launch = plain->launch();
  launch.gpu.target = {"sm_90a", "H100 SXM", 4, 1000};
  launch.gpu.peaks = {{"vector", "fp32", 5000}, {"tensor", "fp16", 100'000}};
  launch.gpu.traffic = {{0, "threads", 4, 13, 52, 416, 208}, {1, "threads", 4, 13, 13, 26, 2}};
  launch.gpu.exchanges = {{0, 11, 5, "where a block is read", 16, 8, 8, 0},
                          {0, 11, 5, "where a block is written", 16, 32, 8, 1}};
  launch.gpu.work = {{0, 11, "vector", "fp32", 600},
                     {0, 11, "tensor", "fp16", 300},
                     {0, 10, "vector", "fp16", 100}};
  EXPECT_EQ(problemOf(launch, 1), "");
  std::string error;
  auto model = TraceModel::make(launch, plain->accesses(), plain->sources(),
                                TraceLimits::ofThisMachine(), error);
  EXPECT_TRUE(model) << error;
  return model;
}

TEST(GpuViewTest, TheWorstComesFirstOnRequest) {
  const auto model = predictedModel();
  EXPECT_EQ(trafficOrder(*model, false), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(trafficOrder(*model, true), (std::vector<size_t>{1, 0})); // 13 against 2
  EXPECT_EQ(exchangeOrder(*model, false), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(exchangeOrder(*model, true), (std::vector<size_t>{1, 0}));
  ASSERT_NE(trafficOf(*model, 1), nullptr);
  EXPECT_EQ(trafficOf(*model, 1)->sectors, 26);
  EXPECT_EQ(trafficOf(*model, 7), nullptr);
  Selection selection = firstSelection(*model);
  apply(Command::FocusTraffic, *model, selection);
  EXPECT_EQ(selection.drawer, PanelKind::Traffic);
  apply(Command::Choose, *model, selection);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.op, 1);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.op, 0);
  const std::string table = csvOf(*model, selection, PanelKind::Traffic);
  EXPECT_NE(table.find("\nsectors,1,tl.store,row_sum.py,12,out_ptr,threads,4,13,26,2,13\n"
                       "sectors,0,tl.load,row_sum.py,10,x_ptr,threads,4,52,416,208,2\n"
                       "wavefronts,,where a block is written,row_sum.py,11,,shared,16,,32,8,4\n"),
            std::string::npos)
      << table;
}

TEST(GpuViewTest, TheRooflineIsThatOfTheMixOfWork) {
  const auto model = predictedModel();
  const Roofline &roofline = model->roofline();
  EXPECT_EQ(roofline.flops, 1000);
  EXPECT_EQ(roofline.bytesAsked, 4 * (1664 + 13));
  EXPECT_EQ(roofline.bytesOnce, 4 * (1300 + 12)); // one store is outside
  // 600 fp32 and 100 fp16, which has no peak of its own, at 5000; 300 at 100 000 beside them.
  EXPECT_DOUBLE_EQ(roofline.computeSeconds, 700.0 / 5000);
  EXPECT_DOUBLE_EQ(roofline.attainable(100), 1000 / 0.14);
  EXPECT_DOUBLE_EQ(roofline.attainable(2000), 500);
  EXPECT_DOUBLE_EQ(roofline.intensity(2000), 0.5);
  EXPECT_EQ(roofline.ofLine(0, 11).flops, 900);
  EXPECT_EQ(roofline.ofLine(0, 10).bytes, 4 * 1664);
  EXPECT_EQ(roofline.ofLine(0, 10).flops, 100);
  EXPECT_EQ(roofline.ofLine(0, 99).bytes, 0);
}

TEST(GpuViewTest, WithoutAPeakThereIsNoRoof) {
  const auto plain = brokenModel();
  TraceLaunch launch = plain->launch();
  launch.gpu.target = {"sm_120a", "", 4, 1000};
  launch.gpu.work = {{0, 11, "vector", "fp64", 600}};
  launch.gpu.peaks = {{"vector", "fp32", 5000}};
  std::string error;
  const auto model = TraceModel::make(launch, plain->accesses(), plain->sources(),
                                      TraceLimits::ofThisMachine(), error);
  ASSERT_TRUE(model) << error;
  EXPECT_EQ(model->roofline().attainable(100), 0);
  EXPECT_EQ(model->roofline().computeRoof(), 0);
}

TEST(TraceModelTest, MissingLaunchesAndEmptyFilesAreErrors) {
  const std::string path = temporaryPath("launches.h5");
  ASSERT_TRUE(writeBrokenTrace(path));
  std::string error;
  EXPECT_FALSE(TraceModel::open(path, 3, error));
  EXPECT_NE(error.find("has no launch 3; it holds 1"), std::string::npos) << error;
}

TEST(TraceModelTest, ATensorTooLargeToShowIsLeftOut) {
  const std::string path = temporaryPath("large.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error);
  ASSERT_TRUE(writer) << error;
  TraceLaunch launch;
  launch.kernel = "k";
  launch.arguments = {tensor({int64_t{1} << 50}, {1}), tensor({4}, {1})};
  launch.ops = {{"tl.load", TraceOpKind::Read, -1, 1, 1, "", ""}};
  ASSERT_TRUE(writer->beginLaunch());
  TraceRun run;
  run.argument = 0;
  run.innerCount = 4;
  run.innerStrideBytes = 4;
  run.elementBytes = 4;
  ASSERT_TRUE(writer->appendRuns({&run, 1}));
  ASSERT_TRUE(writer->endLaunch(launch));
  ASSERT_TRUE(writer->close());
  const auto model = open(path);
  EXPECT_EQ(model->tensors(), std::vector<int>{1});
  Selection selection = firstSelection(*model);
  selectOp(*model, selection, 0);
  EXPECT_EQ(selection.tensor, 1);
}

TEST(SelectionTest, AFindingBringsItsProgramOpLineAndTensor) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  EXPECT_EQ(selection.tensor, 0);
  selectFinding(*model, selection, 1);
  EXPECT_EQ(selection.tensor, 1);
  EXPECT_EQ(selection.program, 0);
  EXPECT_EQ(selection.op, 1);
  EXPECT_EQ(selection.line, 12);
  selectLine(*model, selection, 0, 10);
  EXPECT_EQ(selection.op, 0);
  EXPECT_EQ(selection.tensor, 0);
  clearSelection(selection);
  EXPECT_TRUE(selection.filter().isAny());
}

std::unique_ptr<TraceModel> modelOfFindings() {
  const std::string path = temporaryPath("findings.h5");
  EXPECT_TRUE(writeFindingsTrace(path));
  return open(path);
}

/// Row, column, columns and kind of each segment.
std::vector<std::array<int64_t, 4>> segmentsOf(const TraceModel &model, int argument, int finding) {
  std::vector<std::array<int64_t, 4>> result;
  for (const MarkSegment &each : model.marks(argument, -1, finding))
    result.push_back(
        {each.first.row, each.first.column, each.columns, static_cast<int64_t>(each.kind)});
  return result;
}

TEST(MarksTest, AFindingMarksItsElements) {
  const auto model = modelOfFindings();
  using Segments = std::vector<std::array<int64_t, 4>>;
  const auto kind = [](MarkKind each) { return static_cast<int64_t>(each); };
  EXPECT_EQ(segmentsOf(*model, 0, 0), (Segments{{3, 4, 8, kind(MarkKind::Undefined)}}));
  EXPECT_EQ(segmentsOf(*model, 1, 0), Segments());
  const Segments hole = segmentsOf(*model, 1, 1);
  ASSERT_EQ(hole.size(), 16U);
  EXPECT_EQ(hole[15], (std::array<int64_t, 4>{15, 12, 4, kind(MarkKind::Hole)}));
  // Side A wrote row 2, side B row 1 and one element of row 2; where they meet comes last.
  EXPECT_EQ(segmentsOf(*model, 1, 2), (Segments{{1, 0, 12, kind(MarkKind::SideB)},
                                                {2, 5, 1, kind(MarkKind::SideB)},
                                                {2, 0, 12, kind(MarkKind::SideA)},
                                                {2, 5, 1, kind(MarkKind::Race)}}));
  EXPECT_EQ(model->marks(1, -1, kAllMarks).size(), 16U + 1 + 1);
}

TEST(FindingStoryTest, ADeadlockTellsWhoWaitsForWhom) {
  const auto model = modelOfFindings();
  const TraceFinding &deadlock = model->launch().findings[4];
  ASSERT_EQ(deadlock.waits.size(), 2U);
  EXPECT_EQ(deadlock.waits[0].program, 4);
  EXPECT_EQ(deadlock.waits[0].holder, 5);
  EXPECT_EQ(deadlock.waits[0].waits, "in line 12 for 'lock_ptr'[0] = 1");
  EXPECT_EQ(deadlock.waits[1].holderText, "taken by program 4 in line 12, which waits, too");
  EXPECT_EQ(lastElementOf(*model, 4)->slot, 0);
  EXPECT_EQ(lastElementOf(*model, 5)->slot, 1);
  EXPECT_EQ(lastElementOf(*model, 5)->argument, 2);
  EXPECT_TRUE(model->launch().findings[2].waits.empty());
}

TEST(FindingStoryTest, WhatIsNotRecordedIsTold) {
  const auto model = modelOfFindings();
  const auto &findings = model->launch().findings;
  for (size_t number = 0; number < 5; ++number)
    EXPECT_EQ(notShown(*model, findings[number]), std::vector<std::string>());
  ASSERT_EQ(notShown(*model, findings[5]).size(), 1U);
  EXPECT_NE(notShown(*model, findings[5])[0].find("not recorded"), std::string::npos);
  TraceFinding more = findings[1];
  more.hasMoreElements = true;
  more.argument = -1;
  EXPECT_EQ(notShown(*model, more).size(), 2U);
}

TEST(FindingStoryTest, AProgramThatWasLeftOutIsTold) {
  TraceLaunch launch;
  launch.kernel = "kernel";
  launch.grid = {8, 1, 1};
  launch.ops.resize(1);
  launch.findings.resize(2);
  launch.findings[0].program = 0;
  launch.findings[1].program = 5;
  const std::string path = temporaryPath("cut.h5");
  std::string error;
  const auto writer = TraceWriter::create(path, error, 1);
  ASSERT_TRUE(writer) << error;
  std::vector<TraceRun> runs(2);
  runs[1].program = 5;
  ASSERT_TRUE(writer->beginLaunch() && writer->appendRuns(runs) && writer->endLaunch(launch) &&
              writer->close());
  const auto model = open(path);
  ASSERT_TRUE(model);
  const auto &findings = model->launch().findings;
  EXPECT_TRUE(notShown(*model, findings[0])[0].starts_with("Not all accesses"));
  EXPECT_TRUE(notShown(*model, findings[1])[0].starts_with("The accesses of this program"));
}

TEST(SelectionTest, AFindingBringsItsElementAndItsPlaces) {
  const auto model = modelOfFindings();
  Selection selection = firstSelection(*model);
  selectFinding(*model, selection, 2);
  EXPECT_EQ(selection.tensor, 1);
  EXPECT_EQ(selection.cell, (Cell{2, 5}));
  EXPECT_EQ(selection.program, 2);
  apply(Command::NextPlace, *model, selection);
  EXPECT_EQ(selection.place, 1);
  EXPECT_EQ(selection.program, 1);
  EXPECT_EQ(selection.tensor, 1);
  apply(Command::NextPlace, *model, selection);
  EXPECT_EQ(selection.program, 2);
  selectFinding(*model, selection, 3);
  EXPECT_EQ(selection.line, 10);
  selectPlace(*model, selection, 1);
  EXPECT_EQ(selection.line, 11);
  EXPECT_EQ(selection.op, 1);
  EXPECT_EQ(selection.marks(), 3);
  apply(Command::ToggleMarks, *model, selection);
  EXPECT_EQ(selection.marks(), kNoMarks);
  selectFinding(*model, selection, 5); // of a launch that is not there
  EXPECT_EQ(selection.program, -1);
  EXPECT_FALSE(selection.cell);
}

TEST(CommandsTest, EveryCommandHasAKeyAndRunsInEveryPanel) {
  const auto model = brokenModel();
  ASSERT_FALSE(keyBindings().empty());
  std::vector<bool> bound(static_cast<size_t>(Command::Quit) + 1, false);
  for (int panel = 0; panel < kPanelCount; ++panel)
    for (const KeyBinding &binding : keyBindings()) {
      bound[static_cast<size_t>(binding.command)] = true;
      Selection selection = firstSelection(*model);
      selection.focus = static_cast<PanelKind>(panel);
      for (int times = 0; times < 3; ++times)
        apply(binding.command, *model, selection);
      EXPECT_LT(selection.program, 13);
      EXPECT_LT(selection.op, 2);
    }
  for (size_t command = 0; command < bound.size(); ++command)
    EXPECT_TRUE(bound[command]) << "command " << command << " has no key";
}

TEST(CommandsTest, ArrowsMoveInThePanelWithTheFocus) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  selection.region = fitRegion(model->outsideCells(0, -1).content, 800, 600);
  apply(Command::Right, *model, selection);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.cell, (Cell{1, 0}));
  apply(Command::FocusPrograms, *model, selection);
  apply(Command::Right, *model, selection);
  apply(Command::Right, *model, selection);
  EXPECT_EQ(selection.program, 1);
  apply(Command::FocusOps, *model, selection);
  apply(Command::Down, *model, selection);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.op, 1);
  apply(Command::FocusFindings, *model, selection);
  apply(Command::Down, *model, selection);
  EXPECT_EQ(selection.finding, 0);
  apply(Command::FocusSource, *model, selection);
  apply(Command::Up, *model, selection);
  EXPECT_EQ(selection.line, 9);
}

TEST(HeatImageTest, PixelsShowTheCountsOfTheirCells) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  selection.region = {0, 0, 100, 14}; // two pixels per column, ten per row
  const auto pixels = renderHeat(*model, selection.heatRequest(200, 140));
  const HeatScale scale(1, 2, false);
  const auto at = [&](int row, int column) { return pixels[(row * 10 + 5) * 200 + column * 2]; };
  EXPECT_EQ(at(0, 50), scale.color(1));
  EXPECT_EQ(at(1, 5), scale.color(2));
  EXPECT_EQ(at(13, 5), kOutsideColor);
  EXPECT_EQ(at(13, 50), kPlotBackground);
  selection.program = 1;
  const auto lit = renderHeat(*model, selection.heatRequest(200, 140));
  EXPECT_EQ(lit[15 * 200 + 10], scale.color(2));
  EXPECT_EQ(lit[55 * 200 + 10], dimmed(scale.color(2)));
}

TEST(HeatImageTest, ASmallPictureShowsTheGreatestCountUnderAPixel) {
  const std::string path = temporaryPath("pool.h5");
  ASSERT_TRUE(writeGatherTrace(path, 300'000));
  const auto model = open(path);
  Selection selection = firstSelection(*model);
  selection.region = {0, 0, 1000, 1000};
  const HeatScale scale(model->heat(0), HeatMode::Both, false);
  const auto pixels = renderHeat(*model, selection.heatRequest(125, 125));
  for (const int pixel : {0, 17, 124}) {
    uint32_t most = 0;
    for (int64_t row = 0; row < 8; ++row)
      for (int64_t column = 0; column < 8; ++column)
        most = std::max(most, model->heat(0).value((pixel * 8 + row) * 1000 + pixel * 8 + column,
                                                   HeatMode::Both));
    EXPECT_EQ(pixels[pixel * 125 + pixel], scale.color(most));
  }
}

TEST(HeatViewTest, ZoomKeepsThePointAndPanKeepsTheTensorInSight) {
  const Region content = {0, 0, 100, 100};
  const Region fit = fitRegion(content, 800, 800);
  const Region near = zoomed(fit, 4, 25, 25, content);
  EXPECT_NEAR((25 - near.left) / near.width(), (25 - fit.left) / fit.width(), 1e-9);
  const Region far = moved(near, 1e9, -1e9, content);
  EXPECT_LT(far.left, 100);
  EXPECT_GT(far.bottom, 0);
}

TEST(CsvTest, TablesHoldTheCounts) {
  const auto model = brokenModel();
  Selection selection = firstSelection(*model);
  const std::string elements = csvOf(*model, selection, PanelKind::Heatmap);
  EXPECT_TRUE(elements.starts_with("index0,index1,byte_offset,loads,stores,atomics,inside\n"
                                   "0,0,0,1,0,0,1\n"));
  EXPECT_NE(elements.find("\n13,27,5308,1,0,0,0\n"), std::string::npos);
  EXPECT_NE(csvOf(*model, selection, PanelKind::Ops).find("tl.load,row_sum.py,10,9,x,1664,0,0,28"),
            std::string::npos);
  EXPECT_NE(csvOf(*model, selection, PanelKind::Findings).find("28,\"load of 4 bytes"),
            std::string::npos)
      << csvOf(*model, selection, PanelKind::Findings);
  EXPECT_NE(csvOf(*model, selection, PanelKind::Programs).find("\n12,12,0,0,129,28\n"),
            std::string::npos);
  EXPECT_NE(csvOf(*model, selection, PanelKind::Source).find("row_sum.py,12,0,13,0,1,1\n"),
            std::string::npos);
  selectCell(*model, selection, {1, 5});
  EXPECT_EQ(csvOf(*model, selection, PanelKind::History),
            "access,run,program,x,y,z,op,name,file,line,kind,before,after\n"
            "0,0,0,0,0,0,0,tl.load,row_sum.py,10,read,,\n"
            "1,2,1,1,0,0,0,tl.load,row_sum.py,10,read,,\n");
}

/// A model of runs of one op on one tensor, each with its own limits.
std::unique_ptr<TraceModel> modelOf(const TraceArgument &argument, std::vector<TraceRun> runs,
                                    std::string &error,
                                    TraceLimits limits = TraceLimits::ofThisMachine()) {
  TraceLaunch launch;
  launch.kernel = "k";
  launch.arguments = {argument};
  launch.ops = {{"tl.load", TraceOpKind::Read, -1, 1, 1, "", ""}};
  EXPECT_EQ(problemOf(launch, 0), "");
  TraceAccesses accesses;
  accesses.rows = runs.size();
  forEachAccessColumn([&](const char *, auto defaultValue, auto member, auto valueOf) {
    std::vector<decltype(defaultValue)> values;
    for (const TraceRun &run : runs)
      values.push_back(valueOf(run));
    accesses.*member = TraceColumn<decltype(defaultValue)>(std::move(values));
  });
  EXPECT_EQ(problemOf(accesses, launch), "");
  return TraceModel::make(std::move(launch), std::move(accesses), {}, limits, error);
}

TraceRun longRun(int64_t offsetBytes, int64_t strideBytes) {
  TraceRun run;
  run.argument = 0;
  run.offsetBytes = offsetBytes;
  run.innerCount = 1 << 10;
  run.outerCount = 1 << 10;
  run.innerStrideBytes = strideBytes;
  run.elementBytes = 4;
  return run;
}

TEST(LimitsTest, CountingThatWouldNotEndIsAnError) {
  std::string error;
  TraceLimits limits = TraceLimits::ofThisMachine();
  limits.singleElements = 1 << 19;
  EXPECT_TRUE(modelOf(tensor({64}, {1}), {longRun(0, 4)}, error, limits)) << error;
  EXPECT_FALSE(modelOf(tensor({64}, {1}), {longRun(0, 8)}, error, limits));
  EXPECT_EQ(error, "has 1048576 accesses of single elements, at most 524288 can be counted");
}

TEST(LimitsTest, MemoryForCountsIsBounded) {
  std::string error;
  TraceLimits limits = TraceLimits::ofThisMachine();
  limits.machineBytes = 12'000; // 125 slots at 24 bytes in a quarter of it
  const auto model = modelOf(tensor({126}, {1}), {longRun(0, 4)}, error, limits);
  ASSERT_TRUE(model) << error;
  EXPECT_TRUE(model->tensors().empty());
  limits.machineBytes = 100;
  EXPECT_FALSE(modelOf(tensor({126}, {1}), {longRun(0, 4)}, error, limits));
  EXPECT_NE(error.find("needs more than"), std::string::npos) << error;
}

TEST(LimitsTest, AnExpandedTensorOfTooManyElementsIsNotShown) {
  std::string error;
  const auto model = modelOf(tensor({int64_t{1} << 40, 2}, {0, 1}), {longRun(0, 4)}, error);
  ASSERT_TRUE(model) << error;
  EXPECT_TRUE(model->tensors().empty());
}

TEST(LimitsTest, PlacesAsFarAsARunCanReachAreDrawnAtTheMargin) {
  std::string error;
  for (const int64_t far : {16 * kMaxTensorBytes, -16 * kMaxTensorBytes}) {
    const auto model = modelOf(tensor({4, 8, 16, 16}, {2048, 256, 16, 1}),
                               {longRun(far, 4), longRun(0, 4)}, error);
    ASSERT_TRUE(model) << error;
    const OutsideCells &outside = model->outsideCells(0, -1);
    ASSERT_FALSE(outside.cells.empty());
    EXPECT_EQ(model->heat(0).outsideAccesses(), model->total().outside);
    EXPECT_LE(outside.content.bottom - outside.content.top, 4 * 8 * 16 * 2);
  }
}

TEST(CsvTest, NamesOfTheFileAreNoPathsAndNoControlSequences) {
  std::string error;
  TraceArgument argument = tensor({64}, {1});
  argument.name = "../../x\x1b[2J.csv";
  const auto model = modelOf(argument, {longRun(0, 4)}, error);
  ASSERT_TRUE(model) << error;
  const Selection selection = firstSelection(*model);
  EXPECT_EQ(csvName(*model, selection, PanelKind::Heatmap), "------x--2J-csv");
}

} // namespace
} // namespace blockscope::viz
