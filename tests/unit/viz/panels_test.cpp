// Draws every panel off-screen and looks at the pixels.
#include "tests/unit/trace/sample_traces.h"
#include "viz/panels/heatmap_axes.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/viewer.h"
#include "viz/panels/widgets.h"
#include "viz/window/offscreen.h"
#include "viz/window/png_file.h"
#include "viz/window/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <unistd.h>

namespace blockscope::viz {
namespace {

/// Pixels of a screen, with what one asks about them.
struct Picture {
  std::vector<Rgba> pixels;
  int width;
  int height;
  Rgba at(int x, int y) const { return pixels[static_cast<size_t>(y) * width + x]; }
  size_t count(Rgba color) const {
    return static_cast<size_t>(std::count(pixels.begin(), pixels.end(), color));
  }
  /// Pixels of a rectangle that differ from the colour of its corner: 0 when it is empty.
  int inked(int x0, int y0, int x1, int y1) const {
    int ink = 0;
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x)
        ink += at(x, y) != at(x0, y0) ? 1 : 0;
    return ink;
  }
};

class PanelsTest : public ::testing::Test {
protected:
  void open(bool (*writer)(const std::string &), size_t launch = 0, int width = 1600,
            int height = 1000) {
    const std::string path =
        (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-panels.h5"))
            .string();
    ASSERT_TRUE(writer(path));
    std::string error;
    model = TraceModel::open(path, launch, error);
    ASSERT_TRUE(model) << error;
    selection = firstSelection(*model);
    screen = Offscreen::create(width, height, error);
    ASSERT_TRUE(screen) << error;
  }

  Picture draw(int frames = 3) {
    for (int frame = 0; frame < frames; ++frame)
      screen->frame([&] { drawViewer(*model, selection); });
    Picture picture{screen->pixels(), screen->width(), screen->height()};
    // What is drawn as if nothing shone through it has no pixel through which something does.
    EXPECT_TRUE(std::all_of(picture.pixels.begin(), picture.pixels.end(),
                            [](Rgba pixel) { return pixel >> 24U == 255; }));
    if (const char *folder = std::getenv("BLK_TEST_PICTURES")) {
      std::string error;
      const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
      writePng(std::string(folder) + "/" + test->name() + std::to_string(picturesSaved++) + ".png",
               picture.pixels, picture.width, picture.height, error);
    }
    return picture;
  }

  void press(ImGuiKey_ key, bool shift = false) {
    ImGuiIO &io = ImGui::GetIO();
    io.KeyShift = shift;
    io.KeysDown[key] = true;
    draw(1);
    io.KeysDown[key] = false;
    io.KeyShift = false;
    draw(1);
  }
  void type(char character) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned>(character));
    draw(1);
  }

  /// Middle of a cell on the screen. The plot lies where the pixels of its border are found.
  std::pair<int, int> placeOf(const Picture &picture, int64_t row, int64_t column) const {
    const double cellWidth = selection.plotWidth / selection.region.width();
    const double cellHeight = selection.plotHeight / selection.region.height();
    const auto [left, top] = plotCorner(picture);
    return {left + static_cast<int>((column + 0.5 - selection.region.left) * cellWidth),
            top + static_cast<int>((row + 0.5 - selection.region.top) * cellHeight)};
  }
  /// Upper left corner of the plot: the first pixel of its background.
  static std::pair<int, int> plotCorner(const Picture &picture) {
    for (int y = 120; y < picture.height; ++y)
      for (int x = 1; x + 40 < picture.width; ++x) {
        bool all = true;
        for (int along = 0; along < 24 && all; ++along)
          all = picture.at(x + along, y) == kPlotBackground &&
                picture.at(x, y + along / 4) == kPlotBackground &&
                picture.at(x - 1, y + along / 4) == theme::kPanel;
        if (all)
          return {x, y};
      }
    ADD_FAILURE() << "no heat map in the picture";
    return {0, 0};
  }

  void TearDown() override {
    selection.pictures.reset(); // before the context goes
    screen.reset();
  }

  std::unique_ptr<TraceModel> model;
  Selection selection;
  std::unique_ptr<Offscreen> screen;
  int picturesSaved = 0;
};

TEST_F(PanelsTest, TheHeatMapShowsCountsBorderAndWhatIsOutside) {
  open(writeBrokenTrace);
  const Picture picture = draw();
  const HeatScale scale(1, 2, false);
  const auto colorAt = [&](int64_t row, int64_t column) {
    const auto [x, y] = placeOf(picture, row, column);
    return picture.at(x, y);
  };
  EXPECT_EQ(colorAt(0, 50), scale.color(1));
  EXPECT_EQ(colorAt(1, 5), scale.color(2));
  EXPECT_EQ(colorAt(12, 80), scale.color(1));
  EXPECT_EQ(colorAt(13, 5), kOutsideColor);
  EXPECT_EQ(colorAt(13, 27), kOutsideColor);
  EXPECT_EQ(colorAt(13, 29), kPlotBackground);
  // The border runs between the last row and what is outside.
  const auto [x, last] = placeOf(picture, 12, 5);
  const auto [sameX, below] = placeOf(picture, 13, 5);
  int bright = 0;
  for (int y = last; y < below; ++y)
    bright += (picture.at(x, y) & 0xffffffU) >= 0xd0d0d0U ? 1 : 0;
  EXPECT_EQ(x, sameX);
  EXPECT_GE(bright, 1);
  EXPECT_LE(bright, 4);
}

TEST_F(PanelsTest, EveryPanelDrawsSomething) {
  open(writeBrokenTrace);
  selectFinding(*model, selection, 0);
  const Picture picture = draw();
  EXPECT_GT(picture.inked(12, 10, 300, 56), 500);       // kernel and parameters
  EXPECT_GT(picture.inked(20, 100, 280, 300), 2000);    // programs
  EXPECT_GT(picture.inked(20, 530, 280, 640), 1000);    // ops
  EXPECT_GT(picture.inked(1050, 120, 1560, 450), 3000); // source
  EXPECT_GT(picture.inked(1050, 670, 1560, 900), 2000); // findings
  EXPECT_GT(picture.inked(12, 975, 600, 995), 200);     // status
  EXPECT_GT(picture.count(theme::kChosen), 10'000U);    // op, line and finding are marked
  EXPECT_GT(picture.count(theme::kError), 300U);
}

TEST_F(PanelsTest, AChosenProgramIsLitAndTheRestDims) {
  open(writeBrokenTrace);
  selectProgram(*model, selection, 4);
  const Picture picture = draw();
  const HeatScale scale(1, 2, false);
  const auto [x, y] = placeOf(picture, 4, 60);
  EXPECT_EQ(picture.at(x, y), scale.color(1));
  const auto [otherX, otherY] = placeOf(picture, 7, 60);
  EXPECT_EQ(picture.at(otherX, otherY), dimmed(scale.color(1)));
}

TEST_F(PanelsTest, KeysDoWhatTheHelpSays) {
  open(writeBrokenTrace);
  draw(2);
  type('t');
  EXPECT_EQ(selection.tensor, 1);
  type('m');
  EXPECT_EQ(selection.mode, HeatMode::Reads);
  type('l');
  EXPECT_TRUE(selection.logScale);
  type(']');
  type(']');
  EXPECT_EQ(selection.program, 1);
  type('n');
  EXPECT_EQ(selection.finding, 0);
  EXPECT_EQ(selection.program, 12);
  press(ImGuiKey_Escape);
  EXPECT_EQ(selection.program, -1);
  type('1');
  press(ImGuiKey_RightArrow);
  press(ImGuiKey_RightArrow);
  EXPECT_EQ(selection.cell, (Cell{0, 1}));
  type('+');
  EXPECT_FALSE(selection.isFitted);
  press(ImGuiKey_LeftArrow, /*shift=*/true);
  type('0');
  EXPECT_TRUE(selection.isFitted);
  press(ImGuiKey_Tab);
  EXPECT_EQ(selection.focus, PanelKind::Programs);
  press(ImGuiKey_Tab, /*shift=*/true);
  EXPECT_EQ(selection.focus, PanelKind::Heatmap);
  type('s');
  EXPECT_EQ(selection.wish, Wish::SavePng);
  type('q');
  EXPECT_EQ(selection.wish, Wish::Quit);
}

TEST_F(PanelsTest, TheHelpOverlayCoversThePanels) {
  open(writeBrokenTrace);
  const Picture before = draw();
  type('?');
  EXPECT_TRUE(selection.showsHelp);
  const Picture help = draw();
  EXPECT_LT(help.count(theme::kPanel), before.count(theme::kPanel) / 10);
  EXPECT_GT(help.inked(560, 200, 1050, 800), 8000);
  press(ImGuiKey_Escape);
  EXPECT_FALSE(selection.showsHelp);
}

TEST_F(PanelsTest, HoveringAndClickingACellTellItsStory) {
  open(writeBrokenTrace);
  const Picture before = draw();
  const auto [x, y] = placeOf(before, 13, 5);
  ImGuiIO &io = ImGui::GetIO();
  io.MousePos = {static_cast<float>(x), static_cast<float>(y)};
  const Picture hover = draw();
  EXPECT_GT(hover.inked(x + 20, y + 4, x + 280, y + 60), 300); // the tooltip
  io.MouseDown[0] = true;
  draw(1);
  io.MouseDown[0] = false;
  draw(1);
  EXPECT_EQ(selection.cell, (Cell{13, 5}));
}

TEST_F(PanelsTest, ClickingAProgramAnOpALineAndAFindingChooses) {
  open(writeBrokenTrace);
  draw();
  const auto click = [&](float x, float y) {
    ImGuiIO &io = ImGui::GetIO();
    io.MousePos = {x, y};
    draw(1);
    io.MouseDown[0] = true;
    draw(1);
    io.MouseDown[0] = false;
    draw(1);
  };
  click(60, 545); // the first op
  EXPECT_EQ(selection.op, 0);
  EXPECT_EQ(selection.line, 10);
  click(1200, 780); // the second finding
  EXPECT_GE(selection.finding, 0);
  EXPECT_EQ(selection.focus, PanelKind::Findings);
}

TEST_F(PanelsTest, AllSizesAndViewsDraw) {
  open(writeViewsTrace, 1, 900, 600);
  EXPECT_GT(draw().count(kOutsideColor), 500U);
  TearDown();
  open(writeViewsTrace, 0, 2200, 1400);
  selectSlice(*model, selection, 2);
  const Picture picture = draw();
  const auto [x, y] = placeOf(picture, 2, 3);
  EXPECT_EQ(picture.at(x - 12, y - 12), HeatScale(1, 1, false).color(1));
  const auto [emptyX, emptyY] = placeOf(picture, 4, 3);
  EXPECT_EQ(picture.at(emptyX - 12, emptyY - 12), kUntouchedColor);
}

/// What a test asks of the pixels of a marked cell, left above of its number.
class MarksOnScreenTest : public PanelsTest {
protected:
  /// Draws a finding of `writeFindingsTrace`.
  void show(int finding) {
    if (!model)
      open(writeFindingsTrace);
    selectFinding(*model, selection, finding);
    picture = draw();
  }
  /// Whether each pixel has the mark's colour where `isStroke(x, y)` is, and nowhere else; x and y
  /// count from the corner of the plot.
  template <typename IsStroke> void expectPattern(int64_t row, int64_t column, IsStroke isStroke) {
    const auto [left, top] = plotCorner(picture);
    const auto [middleX, middleY] = placeOf(picture, row, column);
    for (int y = middleY - 15; y < middleY - 10; ++y)
      for (int x = middleX - 14; x < middleX + 12; ++x)
        ASSERT_EQ(picture.at(x, y) == kMarkColor, isStroke(x - left, y - top))
            << "pixel " << x - left << ", " << y - top;
  }
  /// Pixels of a colour in a cell.
  int countIn(int64_t row, int64_t column, Rgba color) const {
    const auto [middleX, middleY] = placeOf(picture, row, column);
    int count = 0;
    for (int y = middleY - 15; y < middleY + 15; ++y)
      for (int x = middleX - 14; x < middleX + 14; ++x)
        count += picture.at(x, y) == color ? 1 : 0;
    return count;
  }

  Picture picture;
};

constexpr auto kNoStroke = [](int, int) { return false; };

TEST_F(MarksOnScreenTest, UndefinedElementsAreHatched) {
  show(0);
  EXPECT_EQ(selection.tensor, 0);
  expectPattern(3, 7, [](int x, int y) { return (x + y) % 9 < 2; });
  expectPattern(3, 13, kNoStroke);
  expectPattern(4, 7, kNoStroke);
  type('x'); // marks off
  picture = draw();
  expectPattern(3, 7, kNoStroke);
}

TEST_F(MarksOnScreenTest, HolesOfAnOutputAreCrossed) {
  show(1);
  EXPECT_EQ(selection.tensor, 1);
  for (const int64_t row : {1, 9, 14})
    expectPattern(row, 13, [](int x, int y) { return (x + y) % 9 < 2 || (x - y + 900) % 9 < 2; });
  expectPattern(9, 8, kNoStroke);
}

TEST_F(MarksOnScreenTest, TheTwoSidesOfARaceAreBesideOneAnother) {
  show(2);
  EXPECT_GT(countIn(2, 9, kSideAColor), 100);
  EXPECT_EQ(countIn(2, 9, kSideBColor), 0);
  EXPECT_GT(countIn(1, 9, kSideBColor), 100);
  EXPECT_EQ(countIn(1, 9, kSideAColor), 0);
  EXPECT_GT(countIn(2, 5, kSideAColor), 50); // where they meet
  EXPECT_GT(countIn(2, 5, kSideBColor), 50);
  const auto inked = [&](Rgba color, int x0, int y0, int x1, int y1) {
    int count = 0;
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x)
        count += picture.at(x, y) == color ? 1 : 0;
    return count;
  };
  for (const Rgba color : {kSideAColor, kSideBColor}) {
    EXPECT_GT(inked(color, 12, 150, 300, 460), 60);    // the programs
    EXPECT_GT(inked(color, 1020, 100, 1590, 510), 60); // below their lines
    EXPECT_GT(inked(color, 900, 180, 1000, 700), 10);  // the legend
  }
  // In the findings panel A is left of B.
  EXPECT_GT(inked(kSideAColor, 1040, 560, 1200, 960), 100);
  EXPECT_EQ(inked(kSideBColor, 1080, 560, 1290, 960), 0); // right of the mark
  EXPECT_GT(inked(kSideBColor, 1300, 560, 1590, 960), 100);
  type('o'); // to the other side
  EXPECT_EQ(selection.program, 1);
  EXPECT_EQ(selection.tensor, 1);
}

TEST_F(MarksOnScreenTest, ANaNIsCheckedWhereItIsHeld) {
  show(3);
  EXPECT_EQ(selection.line, 10);
  EXPECT_EQ(selection.cell, (Cell{6, 0}));
  EXPECT_GT(countIn(6, 0, kMarkColor), 200);
  EXPECT_GT(countIn(6, 0, kMarkEdge), 200);
  EXPECT_EQ(countIn(6, 3, kMarkEdge), 0);
}

TEST_F(MarksOnScreenTest, ADeadlockShowsWhoWaits) {
  show(4);
  EXPECT_EQ(selection.tensor, 2);
  EXPECT_EQ(selection.program, 4);
  const int before = static_cast<int>(picture.count(theme::kWarning));
  EXPECT_GT(before, 60); // letters in the grid of programs
  selectFinding(*model, selection, 3);
  picture = draw();
  EXPECT_LT(static_cast<int>(picture.count(theme::kWarning)), before / 2);
}

TEST_F(MarksOnScreenTest, WhatWasNotRecordedIsTold) {
  show(0);
  const size_t before = picture.count(theme::kWarning);
  show(5);
  EXPECT_GT(picture.count(theme::kWarning), before + 50);
}

TEST_F(MarksOnScreenTest, SharesOfAnErrorStandBesideTheirLines) {
  show(1);
  EXPECT_GT(picture.count(theme::kShareBar), 300U); // 620 of 1000
  TearDown();
  open(writeBrokenTrace);
  EXPECT_EQ(draw().count(theme::kShareBar), 0U);
}

TEST_F(MarksOnScreenTest, WithoutAChoiceAllFindingsMark) {
  open(writeFindingsTrace);
  selectTensor(*model, selection, 1);
  picture = draw();
  EXPECT_GT(countIn(9, 13, kMarkColor), 50); // the hole
  EXPECT_GT(countIn(6, 0, kMarkColor), 200); // the NaN
  EXPECT_EQ(countIn(9, 8, kMarkEdge), 0);
}

TEST_F(MarksOnScreenTest, SmallMarksAreSeenWhateverTheScale) {
  open([](const std::string &path) { return writeGatherTrace(path, 1000); });
  TraceLaunch launch = model->launch();
  TraceFinding finding;
  finding.code = FindingCode::NanBorn;
  finding.argument = 0;
  finding.elements = {{0, (500 * 1000 + 500) * 4, 1, 1, 0}};
  launch.findings = {finding};
  std::string error;
  model = TraceModel::make(launch, model->accesses(), model->sources(),
                           TraceLimits::ofThisMachine(), error);
  ASSERT_TRUE(model) << error;
  selection = firstSelection(*model);
  picture = draw();
  const auto [x, y] = placeOf(picture, 500, 500);
  int white = 0;
  for (int dy = -4; dy <= 4; ++dy)
    for (int dx = -4; dx <= 4; ++dx)
      white += picture.at(x + dx, y + dy) == kMarkColor ? 1 : 0;
  EXPECT_GE(white, 8);
}

/// Processor time of all threads, which a busy machine does not stretch as it does the clock.
double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

TEST_F(PanelsTest, TenMillionAccessesOpenAndDrawFast) {
  open([](const std::string &path) { return writeGatherTrace(path, 10'000'000); });
  const double opening = cpuSeconds();
  std::string error;
  ASSERT_TRUE(TraceModel::open(model->path(), 0, error)) << error;
  EXPECT_LT(cpuSeconds() - opening, 2);
  draw(3);
  const double drawing = cpuSeconds();
  constexpr int kFrames = 10;
  for (int frame = 0; frame < kFrames; ++frame)
    screen->frame([&] { drawViewer(*model, selection); });
  const double milliseconds = (cpuSeconds() - drawing) * 1000 / kFrames;
  RecordProperty("milliseconds", std::to_string(milliseconds));
  EXPECT_LT(milliseconds, 32); // two threads draw
}

TEST_F(PanelsTest, AHundredMillionAccessesScrubFast) {
  constexpr int64_t kElements = 33'500'000; // two loads and a store of each
  open([](const std::string &path) { return writeVectorAddTrace(path, kElements, 1024); });
  ASSERT_GE(model->total().total(), 100'000'000U);
  const double opening = cpuSeconds();
  std::string error;
  ASSERT_TRUE(TraceModel::open(model->path(), 0, error)) << error;
  const double opened = cpuSeconds() - opening;
  draw(3);
  const size_t rows = model->accesses().rows;
  // The processor time of a frame, and the median of the clock's, which others stretch.
  const auto millisecondsOf = [](const auto &frame, int frames) {
    const double before = cpuSeconds();
    std::vector<double> clock;
    for (int number = 0; number < frames; ++number) {
      const auto start = std::chrono::steady_clock::now();
      frame(number);
      clock.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count());
    }
    std::nth_element(clock.begin(), clock.begin() + frames / 2, clock.end());
    return std::pair((cpuSeconds() - before) * 1000 / frames, clock[frames / 2]);
  };
  const auto show = [&] { screen->frame([&] { drawViewer(*model, selection); }); };
  const auto goOn = [&](int frame) {
    selectTime(*model, selection, rows * static_cast<size_t>(frame) / 600);
  };
  const auto jump = [&](int frame) {
    selectTime(*model, selection, frame % 20 < 10 ? rows : rows / 10);
  };
  selectTime(*model, selection, 0);
  draw(3);
  constexpr int kFrames = 60;
  const auto still = millisecondsOf([&](int) { show(); }, kFrames);
  const auto playing = millisecondsOf(
      [&](int frame) {
        goOn(frame);
        show();
      },
      kFrames);
  const auto jumping = millisecondsOf(
      [&](int frame) {
        jump(frame);
        show();
      },
      kFrames);
  const auto picture = millisecondsOf(
      [&](int frame) {
        jump(frame);
        renderHeat(*model, selection.heatRequest(560, 640), std::chrono::microseconds(1500));
      },
      kFrames);
  int late = 0;
  selectTime(*model, selection, rows);
  for (; late == 0 || selection.pictures->isLate(); ++late)
    draw(1);
  EXPECT_LT(late, 1000);
  std::printf("open %.3f s; median frames: still %.2f ms, playing %.2f ms, jumping %.2f ms, of it "
              "the picture %.2f ms; a jump takes %d frames\n",
              opened, still.second, playing.second, jumping.second, picture.second, late);
  EXPECT_LT(opened, 2);
  EXPECT_LT(playing.first, 32); // two threads draw
  EXPECT_LT(jumping.first, 32);
  EXPECT_LT(picture.first, 16);
}

TEST_F(PanelsTest, PanelsAndWhatIsBetweenThemHaveTheirColours) {
  for (const int textPercent : {100, 150, 200}) {
    open(writeBrokenTrace);
    screen->setTextSize(textPercent);
    const Picture picture = draw();
    const float scale = static_cast<float>(textPercent) / 100;
    const auto at = [&](float x, float y) {
      return picture.at(static_cast<int>(x * scale), static_cast<int>(y * scale));
    };
    const ScreenBox heat = selection.panelBox[static_cast<size_t>(PanelKind::Heatmap)];
    for (float y = heat.top + 12; y < heat.bottom - 12; y += 3) {
      ASSERT_EQ(at(heat.left - 4, y), theme::kWindow) << y;
      ASSERT_EQ(at(heat.right + 4, y), theme::kWindow) << y;
      if (y > heat.top + 34) {
        ASSERT_EQ(at(heat.left + 4, y), theme::kPanel) << y;
        ASSERT_EQ(at(heat.right - 4, y), theme::kPanel) << y;
      }
    }
    for (float x = heat.left; x < heat.right; x += 3) {
      ASSERT_EQ(at(x, heat.top - 4), theme::kWindow) << x;
      ASSERT_EQ(at(x, heat.bottom + 4), theme::kWindow) << x;
    }
    for (const float x : {2.0F, 1598 / scale})
      for (float y = 1; y < 1000 / scale; y += 3)
        ASSERT_EQ(at(x, y), theme::kWindow) << x << ", " << y;
    TearDown();
  }
}

TEST_F(PanelsTest, ASliderChoosesTheMoment) {
  open(writeBrokenTrace);
  const Picture all = draw();
  const auto barOf = [](const Picture &picture, Rgba color) { // the slider's pixels
    std::pair<int, int> found{-1, -1};
    for (int y = picture.height / 2; y < picture.height && found.first < 0; ++y)
      for (int x = 300; x + 100 < picture.width && found.first < 0; ++x) {
        bool isLine = true;
        for (int along = 0; along < 100 && isLine; ++along)
          isLine = picture.at(x + along, y) == color && picture.at(x + along, y + 3) == color;
        if (isLine)
          found = {x, y + 2};
      }
    return found;
  };
  const auto [left, y] = barOf(all, theme::kBorder);
  ASSERT_GT(left, 0);
  ImGuiIO &io = ImGui::GetIO();
  io.MousePos = {static_cast<float>(left + 60), static_cast<float>(y)};
  draw(2);
  io.MouseDown[0] = true;
  draw(2);
  io.MouseDown[0] = false;
  draw(2);
  EXPECT_EQ(selection.time.mode, TimeMode::UpTo);
  EXPECT_GT(selection.time.at, 0U);
  EXPECT_LT(selection.time.at, model->accesses().rows);
  const auto [accent, line] = barOf(draw(), theme::kTrack);
  EXPECT_GT(accent, left); // what has not happened yet lies to the right
  EXPECT_NEAR(line, y, 2);
}

TEST_F(PanelsTest, TheHistoryOpensBelowTheHeatMap) {
  open(writeBrokenTrace);
  selectCell(*model, selection, {1, 5});
  const Picture before = draw();
  type('6');
  EXPECT_EQ(selection.drawer, PanelKind::History);
  const Picture opened = draw();
  EXPECT_GT(opened.count(theme::kRead), before.count(theme::kRead));
  press(ImGuiKey_DownArrow);
  press(ImGuiKey_DownArrow);
  EXPECT_EQ(selection.program, 1);
  EXPECT_GT(draw().count(theme::kChosen), opened.count(theme::kChosen));
  type('6');
  EXPECT_FALSE(selection.drawer);
}

TEST_F(PanelsTest, ValuesThatHaveNoRoomInTheHistoryHaveALineOfTheirOwn) {
  open(writeBrokenTrace);
  std::string error;
  const auto heightOfARow = [&](TraceValues values, int textPercent) {
    model = TraceModel::make(model->launch(), model->accesses(), model->sources(),
                             TraceLimits::ofThisMachine(), error, std::move(values));
    selection = firstSelection(*model);
    screen->setTextSize(textPercent);
    selectCell(*model, selection, {1, 5});
    type('6');
    press(ImGuiKey_DownArrow);
    const Picture picture = draw();
    const ScreenBox box = selection.panelBox[static_cast<size_t>(PanelKind::History)];
    const float scale = static_cast<float>(textPercent) / 100;
    int height = 0;
    for (float y = box.top * scale; y < box.bottom * scale; ++y)
      height += picture.at(static_cast<int>((box.right - 20) * scale), static_cast<int>(y)) ==
                theme::kChosen;
    return height;
  };
  TraceValues some;
  some.dropped = 1;
  const int wide = heightOfARow(some, 100);
  EXPECT_GT(wide, 10);
  EXPECT_EQ(wide, heightOfARow({}, 100));
  EXPECT_GT(heightOfARow(some, 200), heightOfARow({}, 200) * 3 / 2);
}

TEST(ThemeTest, TextIsLegibleOnWhatItStandsOn) {
  const auto luminance = [](Rgba color) { // of WCAG 2
    const auto part = [color](int shift) {
      const double value = static_cast<double>(color >> shift & 0xffU) / 255;
      return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * part(IM_COL32_R_SHIFT) + 0.7152 * part(IM_COL32_G_SHIFT) +
           0.0722 * part(IM_COL32_B_SHIFT);
  };
  for (const Rgba ink : {theme::kText, theme::kFaint, theme::kError, theme::kWarning, theme::kNote,
                         theme::kRead, theme::kWrite, theme::kAtomic})
    for (const Rgba paper :
         {theme::kWindow, theme::kPanel, theme::kPanelTitle, theme::kHovered, theme::kChosen})
      EXPECT_GE((luminance(ink) + 0.05) / (luminance(paper) + 0.05), 4.5)
          << std::hex << ink << " on " << paper;
}

/// The broken kernel with a prediction for a GPU.
class GpuPanelsTest : public PanelsTest {
protected:
  void SetUp() override {
    open(writeBrokenTrace);
    TraceLaunch launch = model->launch();
    launch.gpu.target = {"sm_90a", "H100 SXM", 4, 3'350'000'000'000};
    launch.gpu.peaks = {{"vector", "fp32", 66'900'000'000'000}};
    launch.gpu.traffic = {{0, "threads", 4, 13, 52, 416, 52}, {1, "threads", 4, 13, 13, 13, 13}};
    launch.gpu.exchanges = {{0, 11, 5, "where a block is read", 16, 32, 8, 1}};
    launch.gpu.work = {{0, 11, "vector", "fp32", 1651}};
    std::string error;
    model = TraceModel::make(launch, model->accesses(), model->sources(),
                             TraceLimits::ofThisMachine(), error);
    ASSERT_TRUE(model) << error;
    selection = firstSelection(*model);
  }
};

TEST_F(GpuPanelsTest, AnOpThatTakesTooManySectorsIsRed) {
  const Picture closed = draw();
  type('7');
  EXPECT_EQ(selection.drawer, PanelKind::Traffic);
  const Picture opened = draw();
  EXPECT_GT(opened.count(theme::kError), closed.count(theme::kError) + 200);
  press(ImGuiKey_Enter);
  EXPECT_TRUE(selection.worstFirst);
  press(ImGuiKey_DownArrow);
  EXPECT_EQ(selection.op, 0);
}

TEST_F(GpuPanelsTest, TheRooflineHasRoofsAndAPoint) {
  constexpr Rgba kPoint = IM_COL32(255, 214, 102, 255);
  const Picture closed = draw();
  EXPECT_EQ(closed.count(kPoint), 0U);
  type('8');
  EXPECT_EQ(selection.drawer, PanelKind::Roofline);
  const Picture opened = draw();
  EXPECT_GT(opened.count(kPoint), 100U);
  int roof = 0; // in the left of the panel below the heat map
  for (int y = 690; y < 940; ++y)
    for (int x = 330; x < 680; ++x)
      roof += opened.at(x, y) == theme::kAccent ? 1 : 0;
  EXPECT_GT(roof, 150);
}

TEST_F(GpuPanelsTest, NumbersOfTheRooflineCanBeScrolledTo) {
  screen->setTextSize(150);
  type('8');
  draw();
  const ScreenBox box = selection.panelBox[static_cast<size_t>(PanelKind::Roofline)];
  const auto yellow = [&](const Picture &picture) { // the last two lines, beside the plot
    int count = 0;
    for (int y = static_cast<int>(box.top * 1.5F); y < static_cast<int>(box.bottom * 1.5F); ++y)
      for (int x = static_cast<int>((box.left + box.right) * 0.75F) + 12;
           x < static_cast<int>(box.right * 1.5F); ++x)
        count += (picture.at(x, y) & 0xffU) > (picture.at(x, y) >> 16U & 0xffU) + 80 ? 1 : 0;
    return count;
  };
  EXPECT_LT(yellow(draw()), 50);
  ImGuiIO &io = ImGui::GetIO();
  io.MousePos = {(box.right - 30) * 1.5F, (box.top + 60) * 1.5F};
  draw(2);
  for (int turn = 0; turn < 5; ++turn) {
    io.MouseWheel = -2;
    draw(1);
  }
  io.MouseWheel = 0;
  EXPECT_GT(yellow(draw()), 150);
}

TEST_F(PanelsTest, LongTextIsShortenedNotCut) {
  open(writeBrokenTrace);
  screen->frame([&] {
    const std::string text = "a_rather_long_name_for_a_tensor_\u00fc\u00fc\u00fc";
    for (float width = 20; width < 400; width += 7) {
      const std::string shown = fitted(text, width);
      EXPECT_LE(textWidth(shown), std::max(width, textWidth("\u2026")));
      EXPECT_TRUE(shown == text || shown.ends_with("\u2026"));
    }
  });
}

TEST(SessionTest, WishesBecomeFilesClipboardAndLaunches) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-session");
  std::filesystem::create_directories(folder);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  ASSERT_TRUE(writeViewsTrace("views.h5"));
  std::string error;
  const auto session = Session::open("views.h5", std::nullopt, error);
  ASSERT_TRUE(session) << error;
  std::string copied;
  SessionHost host;
  host.pixels = [](int &width, int &height) {
    width = height = 2;
    return std::vector<Rgba>(4, kOutsideColor);
  };
  host.copy = [&copied](const std::string &text) { copied = text; };
  const auto wish = [&](Wish each) {
    session->selection().wish = each;
    return session->fulfil(host);
  };
  EXPECT_TRUE(wish(Wish::SavePng));
  EXPECT_TRUE(wish(Wish::SavePng));
  EXPECT_TRUE(std::filesystem::exists("views.png"));
  EXPECT_TRUE(std::filesystem::exists("views-2.png"));
  EXPECT_TRUE(wish(Wish::SaveCsv));
  EXPECT_TRUE(std::filesystem::exists("views-cube_ptr.csv"));
  EXPECT_TRUE(wish(Wish::CopyCsv));
  EXPECT_TRUE(copied.starts_with("index0,index1,index2,byte_offset"));
  EXPECT_TRUE(wish(Wish::NextLaunch));
  EXPECT_EQ(session->model().launch().kernel, "view_kernel");
  EXPECT_TRUE(wish(Wish::NextLaunch));
  EXPECT_EQ(session->selection().notice, "there is no further launch");
  EXPECT_FALSE(wish(Wish::Quit));
  std::filesystem::current_path(before);
}

TEST(PngTest, AnUnwritablePathIsAnErrorWithItsReason) {
  std::string error;
  EXPECT_FALSE(writePng("/nonexistent/x.png", {0}, 1, 1, error));
  EXPECT_NE(error.find("No such file"), std::string::npos);
}

TEST(CountTextTest, IsShort) {
  EXPECT_EQ(countText(7), "7");
  EXPECT_EQ(countText(123'456), "123 k");
  EXPECT_EQ(countText(9'990'000), "9.99 M");
  EXPECT_EQ(countText(999'999), "1.00 M");
}

} // namespace
} // namespace blockscope::viz
