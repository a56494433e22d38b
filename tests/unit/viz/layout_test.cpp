// Holds every view to a layout in which no text is cut and none lies on another, at each size of
// text. What ImGui is about to draw says where each letter is.
#include "tests/unit/trace/sample_traces.h"
#include "viz/panels/compare_view.h"
#include "viz/panels/folder_view.h"
#include "viz/panels/layout.h"
#include "viz/panels/theme.h"
#include "viz/panels/viewer.h"
#include "viz/window/offscreen.h"
#include "viz/window/png_file.h"
#include "viz/window/session.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <unistd.h>

namespace blockscope::viz {
namespace {

struct Letter {
  ImVec2 low;
  ImVec2 high;
  ImVec4 clip;
  ImU32 color;
  ImVec2 uv; ///< which letter it is
  float area() const { return (high.x - low.x) * (high.y - low.y); }
};

float overlap(float low, float high, float otherLow, float otherHigh) {
  return std::max(0.0F, std::min(high, otherHigh) - std::max(low, otherLow));
}

/// The letters of one draw list: rectangles that show a part of the fonts' texture.
void addLetters(const ImDrawList &list, std::vector<Letter> &letters) {
  const ImTextureID fonts = ImGui::GetIO().Fonts->TexID;
  for (const ImDrawCmd &command : list.CmdBuffer) {
    if (command.UserCallback != nullptr || command.GetTexID() != fonts)
      continue;
    const ImDrawIdx *index = list.IdxBuffer.Data + command.IdxOffset;
    for (unsigned at = 0; at + 5 < command.ElemCount;) {
      const ImDrawIdx first = index[at];
      const bool isQuad = index[at + 1] == first + 1 && index[at + 2] == first + 2 &&
                          index[at + 3] == first && index[at + 4] == first + 2 &&
                          index[at + 5] == first + 3;
      const ImDrawVert &low = list.VtxBuffer[static_cast<int>(command.VtxOffset + first)];
      const ImDrawVert &high = list.VtxBuffer[static_cast<int>(command.VtxOffset + index[at + 2])];
      if (isQuad && low.uv.x != high.uv.x && low.uv.y != high.uv.y)
        letters.push_back({low.pos, high.pos, command.ClipRect, low.col, low.uv});
      at += isQuad ? 6 : 3;
    }
  }
}

struct Size {
  int textPercent;
  int width;
  int height;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name is GoogleTest's
void PrintTo(const Size &size, std::ostream *to) {
  *to << size.textPercent << " % in " << size.width << "x" << size.height;
}

class LayoutTest : public ::testing::TestWithParam<Size> {
protected:
  std::string path(const std::string &name) const {
    return (std::filesystem::path(::testing::TempDir()) /
            (std::to_string(::getpid()) + "-layout-" + name))
        .string();
  }

  void SetUp() override {
    std::string error;
    const Size size = GetParam();
    screen = Offscreen::create(size.width, size.height, error, size.textPercent);
    ASSERT_TRUE(screen) << error;
  }

  /// Draws and looks at all letters: none is cut, none lies on another.
  void expectCleanText(const std::string &name, const std::function<void()> &draw) {
    expectClean(name, draw, /*isOverlay=*/false, 60);
  }
  /// An overlay lies over the panels: its letters alone are looked at.
  void expectCleanOverlay(const std::string &name, size_t least,
                          const std::function<void()> &draw) {
    expectClean(name, draw, /*isOverlay=*/true, least);
  }

  void expectClean(const std::string &name, const std::function<void()> &draw, bool isOverlay,
                   size_t least) {
    for (int frame = 0; frame < 3; ++frame)
      screen->frame(draw);
    std::vector<Letter> letters;
    const ImDrawData *data = ImGui::GetDrawData();
    for (int list = isOverlay ? data->CmdListsCount - 1 : 0; list < data->CmdListsCount; ++list)
      addLetters(*data->CmdLists[list], letters);
    if (const char *folder = std::getenv("BLK_TEST_PICTURES")) {
      std::string error;
      const Size size = GetParam();
      writePng(std::string(folder) + "/" + name + "-" + std::to_string(size.width) + "-" +
                   std::to_string(size.textPercent) + ".png",
               screen->pixels(), size.width, size.height, error);
    }
    ASSERT_GT(letters.size(), least) << name;
    std::vector<Letter> seen;
    for (const Letter &each : letters) {
      const float across = overlap(each.low.x, each.high.x, each.clip.x, each.clip.z);
      const float down = overlap(each.low.y, each.high.y, each.clip.y, each.clip.w);
      if (across <= 0 || down <= 0)
        continue; // scrolled away
      EXPECT_GT(across * down, 0.9F * each.area())
          << name << ": a letter is cut at " << each.low.x << ", " << each.low.y;
      seen.push_back(each);
    }
    EXPECT_GT(seen.size(), least);
    for (size_t one = 0; one < seen.size(); ++one)
      for (size_t other = one + 1; other < seen.size(); ++other) {
        const float common =
            overlap(seen[one].low.x, seen[one].high.x, seen[other].low.x, seen[other].high.x) *
            overlap(seen[one].low.y, seen[one].high.y, seen[other].low.y, seen[other].high.y);
        EXPECT_LE(common, 0.35F * std::min(seen[one].area(), seen[other].area()))
            << name << ": letters lie on one another at " << seen[one].low.x << ", "
            << seen[one].low.y;
      }
  }

  /// The most words that stand in one line of a panel, in the colour of heads: parted by more than
  /// a space.
  static size_t widestRowOf(const ScreenBox &box) {
    std::vector<Letter> letters;
    for (int list = 0; list < ImGui::GetDrawData()->CmdListsCount; ++list)
      addLetters(*ImGui::GetDrawData()->CmdLists[list], letters);
    std::map<int, std::vector<const Letter *>> rows;
    for (const Letter &each : letters)
      if (each.color == theme::kFaint && each.low.x >= box.left && each.high.x <= box.right &&
          each.low.y >= box.top + 30 && each.high.y <= box.bottom)
        rows[static_cast<int>(each.high.y / 24)].push_back(&each);
    size_t most = 0;
    for (auto &[y, row] : rows) {
      std::sort(row.begin(), row.end(),
                [](const Letter *one, const Letter *other) { return one->low.x < other->low.x; });
      size_t words = 1;
      for (size_t letter = 1; letter < row.size(); ++letter)
        words += row[letter]->low.x - row[letter - 1]->high.x > 8 ? 1 : 0;
      most = std::max(most, words);
    }
    return most;
  }

  /// Texts in a panel that were shortened.
  static size_t shortenedIn(const ScreenBox &box) {
    std::vector<Letter> letters;
    for (int list = 0; list < ImGui::GetDrawData()->CmdListsCount; ++list)
      addLetters(*ImGui::GetDrawData()->CmdLists[list], letters);
    size_t count = 0;
    for (const ImFont *font : ImGui::GetIO().Fonts->Fonts) {
      const ImFontGlyph *ellipsis = font->FindGlyph(0x2026);
      for (const Letter &each : letters)
        count += each.uv.x == ellipsis->U0 && each.uv.y == ellipsis->V0 && each.low.x >= box.left &&
                         each.high.x <= box.right && each.low.y >= box.top + 30 &&
                         each.high.y <= box.bottom
                     ? 1
                     : 0;
    }
    return count;
  }

  /// Letters of a colour in the last frame.
  static size_t letterCount(ImU32 color) {
    std::vector<Letter> letters;
    for (int list = 0; list < ImGui::GetDrawData()->CmdListsCount; ++list)
      addLetters(*ImGui::GetDrawData()->CmdLists[list], letters);
    return static_cast<size_t>(
        std::count_if(letters.begin(), letters.end(),
                      [color](const Letter &each) { return each.color == color; }));
  }

  std::unique_ptr<Offscreen> screen;
};

TEST_P(LayoutTest, OfOneRun) {
  ASSERT_TRUE(writeBrokenTrace(path("a.h5")));
  std::string error;
  const auto model = TraceModel::open(path("a.h5"), 0, error);
  ASSERT_TRUE(model) << error;
  Selection selection = firstSelection(*model);
  for (int panel = 0; panel < kPanelCount; ++panel) {
    selection.focus = static_cast<PanelKind>(panel);
    expectCleanText("run" + std::to_string(panel), [&] { drawViewer(*model, selection); });
  }
  selection.focus = PanelKind::Programs;
  selectProgram(*model, selection, 4);
  selection.cell = Cell{3, 7};
  expectCleanText("choice", [&] { drawViewer(*model, selection); });
  for (const int row : {0, 9}) {
    selection.showsHelp = true;
    selection.helpRow = row;
    const TraceModel *shown = model.get();
    expectCleanOverlay("help", 100, [&] { drawViewer(*shown, selection); });
  }
  selection.pictures.reset();
}

/// The lowest letter in a panel.
float lowestIn(const std::vector<Letter> &letters, const ScreenBox &box) {
  float lowest = box.top;
  for (const Letter &each : letters)
    if (each.low.x >= box.left && each.high.x <= box.right && each.high.y <= box.bottom)
      lowest = std::max(lowest, each.high.y);
  return lowest;
}

TEST_P(LayoutTest, OfFindings) {
  ASSERT_TRUE(writeFindingsTrace(path("a.h5")));
  std::string error;
  const auto model = TraceModel::open(path("a.h5"), 0, error);
  ASSERT_TRUE(model) << error;
  Selection selection = firstSelection(*model);
  for (const PanelKind panel : {PanelKind::Findings, PanelKind::Source, PanelKind::Heatmap})
    for (int finding = 0; finding < static_cast<int>(model->launch().findings.size()); ++finding) {
      selectFinding(*model, selection, finding);
      selection.scrollsToChoice = true;
      selection.focus = panel;
      const std::string name = "finding" + std::to_string(finding);
      expectCleanText(name, [&] { drawViewer(*model, selection); });
      if (panel != PanelKind::Findings || finding > 2)
        continue;
      EXPECT_EQ(shortenedIn(selection.panelBox[static_cast<size_t>(panel)]), 0U) << name;
      // More findings follow than there is room for: the list is full down to its last line.
      std::vector<Letter> letters;
      for (int list = 0; list < ImGui::GetDrawData()->CmdListsCount; ++list)
        addLetters(*ImGui::GetDrawData()->CmdLists[list], letters);
      const ScreenBox box = selection.panelBox[static_cast<size_t>(PanelKind::Findings)];
      const bool isHigh = box.bottom - box.top > 500;
      EXPECT_GT(lowestIn(letters, box), box.bottom - 36 - (isHigh ? 1000 : 0)) << name;
    }
  selection.pictures.reset();
}

TEST_P(LayoutTest, OfAPrediction) {
  ASSERT_TRUE(writeBrokenTrace(path("a.h5")));
  std::string error;
  auto model = TraceModel::open(path("a.h5"), 0, error);
  ASSERT_TRUE(model) << error;
  TraceLaunch launch = model->launch();
  launch.gpu.target = {"sm_90a", "H100 SXM", 4, 3'350'000'000'000};
  launch.gpu.peaks = {{"vector", "fp32", 66'900'000'000'000}};
  launch.gpu.traffic = {{0, "cp.async", 16, 13, 52, 4160, 52}, {1, "threads", 4, 13, 13, 13, 13}};
  launch.gpu.exchanges = {
      {0, 11, 16, "where elements are stored on their way to other lanes", 16, 128, 8, 1}};
  launch.gpu.work = {{0, 11, "vector", "fp32", 1651}};
  model = TraceModel::make(launch, model->accesses(), model->sources(),
                           TraceLimits::ofThisMachine(), error);
  ASSERT_TRUE(model) << error;
  Selection selection = firstSelection(*model);
  selection.cell = Cell{3, 7};
  for (const PanelKind panel : {PanelKind::Traffic, PanelKind::Roofline, PanelKind::History}) {
    focusPanel(selection, panel);
    expectCleanText(std::string(panelTitle(panel)), [&] { drawViewer(*model, selection); });
    if (panel != PanelKind::Roofline)
      EXPECT_EQ(shortenedIn(selection.panelBox[static_cast<size_t>(panel)]), 0U)
          << panelTitle(panel);
    if (panel == PanelKind::Traffic)
      EXPECT_GE(widestRowOf(selection.panelBox[static_cast<size_t>(panel)]), 4U);
  }
  selection.pictures.reset();
}

TEST_P(LayoutTest, OfSlices) {
  ASSERT_TRUE(writeViewsTrace(path("a.h5")));
  std::string error;
  const auto model = TraceModel::open(path("a.h5"), 0, error);
  ASSERT_TRUE(model) << error;
  Selection selection = firstSelection(*model);
  for (const int64_t slice : {-1, 2}) {
    selectSlice(*model, selection, slice);
    expectCleanText("slice", [&] { drawViewer(*model, selection); });
    EXPECT_GT(letterCount(theme::kRead), 4U); // "read 240"
    EXPECT_GT(letterCount(theme::kWrite), 7U);
  }
  selection.pictures.reset();
}

TEST_P(LayoutTest, OfTwoRuns) {
  ASSERT_TRUE(writeBrokenTrace(path("a.h5")));
  ASSERT_TRUE(writeBrokenTrace(path("b.h5")));
  std::string error;
  const auto comparison = Comparison::open(path("a.h5"), path("b.h5"), std::nullopt, error);
  ASSERT_TRUE(comparison) << error;
  CompareView view = firstView(*comparison);
  expectCleanText("compare", [&] { drawComparison(*comparison, view); });
  for (const bool showsRuns : {false, true}) {
    view.showsRuns = showsRuns;
    view.shared.cell = Cell{3, 7};
    expectCleanText("cell", [&] { drawComparison(*comparison, view); });
  }
  for (auto &each : view.pictures)
    each.reset();
}

TEST_P(LayoutTest, OfTwoRunsWithFindings) {
  ASSERT_TRUE(writeFindingsTrace(path("a.h5")));
  std::string error;
  const auto comparison = Comparison::open(path("a.h5"), path("a.h5"), std::nullopt, error);
  ASSERT_TRUE(comparison) << error;
  CompareView view = firstView(*comparison);
  for (const size_t tensor : {0U, 1U}) {
    chooseTensor(*comparison, view, tensor);
    for (const bool showsRuns : {false, true}) {
      view.showsRuns = showsRuns;
      expectCleanText("race", [&] { drawComparison(*comparison, view); });
    }
  }
  for (auto &each : view.pictures)
    each.reset();
}

TEST_P(LayoutTest, OfAFolder) {
  const std::filesystem::path folder = path("folder");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(writeBrokenTrace((folder / "a_trace_of_a_kernel_with_a_long_name.h5").string()));
  ASSERT_TRUE(writeViewsTrace((folder / "views.h5").string()));
  std::string error;
  const auto list = TraceFolder::open(folder.string(), error);
  ASSERT_TRUE(list) << error;
  while (list->readNext()) {
  }
  FolderView view;
  expectCleanText("folder", [&] { drawFolder(*list, view); });
}

TEST_P(LayoutTest, OfTheTour) {
  ASSERT_TRUE(writeBrokenTrace(path("a.h5")));
  std::string error;
  for (size_t step = 0; step < tourSteps().size(); ++step) {
    const auto session = Session::openTour(path("a.h5"), step, error);
    ASSERT_TRUE(session) << error;
    expectCleanOverlay("tour" + std::to_string(step), 30, [&] { session->draw(); });
    // The box lies on nothing that names what it tells of.
    const Selection &selection = session->selection();
    const TourPlace place = tourSteps()[step].place;
    ScreenBox title = place == TourPlace::Header ? selection.headerBox
                      : place == TourPlace::Element
                          ? selection.elementBox
                          : selection.panelBox[static_cast<size_t>(selection.focus)];
    if (place != TourPlace::Header && place != TourPlace::Element)
      title.bottom = title.top + 30;
    const ScreenBox &box = session->tour()->box;
    EXPECT_GT(box.bottom - box.top, 60);
    EXPECT_EQ(overlap(title.left, title.right, box.left, box.right) *
                  overlap(title.top, title.bottom, box.top, box.bottom),
              0)
        << "step " << step;
    session->dropPictures();
  }
}

INSTANTIATE_TEST_SUITE_P(TextSizes, LayoutTest,
                         ::testing::Values(Size{100, 1600, 1000}, Size{125, 1600, 1000},
                                           Size{150, 1600, 1000}, Size{200, 1600, 1000},
                                           Size{100, 1000, 700}, Size{150, 1000, 700},
                                           Size{200, 1000, 700}));

TEST(PanelChoiceTest, ASmallWindowShowsWhatWasChosenLast) {
  EXPECT_EQ(roomOf({1600, 1000}), Room::Five);
  EXPECT_EQ(roomOf({800, 500}), Room::Two); // 1600x1000 at 200 %
  EXPECT_EQ(roomOf({500, 350}), Room::One);
  Selection selection;
  EXPECT_EQ(onlyPanel(selection), PanelKind::Heatmap);
  selection.opened = PanelKind::Findings; // by the command line
  EXPECT_EQ(onlyPanel(selection), PanelKind::Findings);
  focusPanel(selection, PanelKind::Heatmap);
  EXPECT_EQ(onlyPanel(selection), PanelKind::Heatmap);
  EXPECT_EQ(sidePanel(selection), PanelKind::Findings);
  focusPanel(selection, PanelKind::History);
  EXPECT_EQ(sidePanel(selection), PanelKind::History);
  EXPECT_EQ(onlyPanel(selection), PanelKind::History);
  selection.focus = PanelKind::Heatmap; // stays beside it
  EXPECT_EQ(sidePanel(selection), PanelKind::History);
  selection.drawer.reset();
  EXPECT_EQ(sidePanel(selection), PanelKind::Findings);
}

TEST(PanelSizesTest, WhatWasDraggedIsKeptInItsBounds) {
  const ImVec2 screen = {1600, 1000};
  const Look usual;
  const PanelSizes sizes = panelSizes(usual, screen, 900, false);
  EXPECT_FLOAT_EQ(sizes.left + sizes.middle + sizes.right + 4 * kPanelGap, 1600);
  Look dragged;
  dragged.leftShare = 0.25F;
  dragged.rightSplit = 0.5F;
  EXPECT_FLOAT_EQ(panelSizes(dragged, screen, 900, false).left, 400);
  EXPECT_FLOAT_EQ(panelSizes(dragged, screen, 900, false).rightUpper, 450);
  dragged.leftShare = 0.99F;
  dragged.rightShare = 0.99F;
  for (const float width : {880.0F, 1600.0F, 4000.0F}) {
    const PanelSizes least = panelSizes(dragged, {width, 1000}, 900, false);
    EXPECT_GE(least.middle, 199);
    EXPECT_GE(least.right, 219);
    EXPECT_GE(least.left, 149);
  }
}

} // namespace
} // namespace blockscope::viz
