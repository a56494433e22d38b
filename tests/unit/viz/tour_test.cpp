// The tour goes on, back and to its end by keys and by clicks, and each step shows what it tells
// of.
#include "tests/unit/trace/sample_traces.h"
#include "viz/model/tour.h"
#include "viz/panels/theme.h"
#include "viz/window/offscreen.h"
#include "viz/window/session.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <filesystem>
#include <unistd.h>

namespace blockscope::viz {
namespace {

constexpr int kWidth = 1600;
constexpr int kHeight = 1000;

class TourTest : public ::testing::Test {
protected:
  void SetUp() override {
    const std::string path =
        (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-tour.h5"))
            .string();
    ASSERT_TRUE(writeBrokenTrace(path));
    std::string error;
    session = Session::openTour(path, 0, error);
    ASSERT_TRUE(session) << error;
    screen = Offscreen::create(kWidth, kHeight, error);
    ASSERT_TRUE(screen) << error;
    draw(3);
  }
  void TearDown() override {
    if (session)
      session->dropPictures(); // before the context goes
  }

  void draw(int frames) {
    for (int frame = 0; frame < frames; ++frame)
      screen->frame([this] { session->draw(); });
  }
  void press(ImGuiKey_ key) {
    ImGui::GetIO().KeysDown[key] = true;
    draw(1);
    ImGui::GetIO().KeysDown[key] = false;
    draw(2);
  }
  /// The middle of the rightmost button of the tour's box, or of the leftmost: below the header
  /// nothing else has this colour undimmed.
  ImVec2 button(bool isLast) const {
    const std::vector<Rgba> pixels = screen->pixels();
    constexpr Rgba kButton = rgba(46, 52, 64);
    for (int column = 0; column < kWidth; ++column) {
      const int x = isLast ? kWidth - 1 - column : column;
      int count = 0;
      int sum = 0;
      for (int y = 70; y < kHeight; ++y)
        if (pixels[static_cast<size_t>(y) * kWidth + x] == kButton) {
          ++count;
          sum += y;
        }
      if (count > 10)
        return {static_cast<float>(isLast ? x - 6 : x + 6),
                static_cast<float>(sum) / static_cast<float>(count)};
    }
    ADD_FAILURE() << "there is no button";
    return {};
  }
  void click(ImVec2 at) {
    ImGuiIO &io = ImGui::GetIO();
    io.MousePos = at;
    draw(1);
    io.MouseDown[0] = true;
    draw(1);
    io.MouseDown[0] = false;
    draw(1);
    io.MousePos = {-1, -1};
    draw(2);
  }

  std::unique_ptr<Offscreen> screen;
  std::unique_ptr<Session> session;
};

TEST_F(TourTest, KeysGoOnAndBackAndToTheEnd) {
  const Selection &selection = session->selection();
  EXPECT_TRUE(selection.isGuided);
  press(ImGuiKey_LeftArrow); // there is none before the first
  EXPECT_EQ(selection.focus, PanelKind::Heatmap);
  for (int step = 0; step < 3; ++step)
    press(ImGuiKey_RightArrow);
  EXPECT_EQ(selection.focus, PanelKind::Programs);
  EXPECT_EQ(selection.program, 12);
  press(ImGuiKey_Enter);
  EXPECT_EQ(selection.focus, PanelKind::Ops);
  EXPECT_GE(selection.op, 0);
  press(ImGuiKey_LeftArrow);
  EXPECT_EQ(selection.focus, PanelKind::Programs);
  EXPECT_EQ(selection.op, -1);
  press(ImGuiKey_Escape);
  EXPECT_FALSE(selection.isGuided);
  press(ImGuiKey_RightArrow); // the keys are those of the panels again
  EXPECT_EQ(selection.program, 12);
}

TEST_F(TourTest, ClicksDoSo) {
  const Selection &selection = session->selection();
  for (int step = 0; step < 3; ++step)
    click(button(/*isLast=*/true));
  EXPECT_EQ(selection.focus, PanelKind::Programs);
  click(button(/*isLast=*/true));
  EXPECT_EQ(selection.focus, PanelKind::Ops); // which has no button of its own
  EXPECT_TRUE(selection.isGuided);
  click(button(/*isLast=*/false)); // skip
  EXPECT_FALSE(selection.isGuided);
}

TEST_F(TourTest, EveryStepFramesWhatItTellsOf) {
  for (size_t step = 0; step < tourSteps().size(); ++step) {
    const Selection &selection = session->selection();
    ASSERT_TRUE(selection.isGuided);
    const TourPlace place = tourSteps()[step].place;
    const ScreenBox box = place == TourPlace::Header ? selection.headerBox
                          : place == TourPlace::Element
                              ? selection.elementBox
                              : selection.panelBox[static_cast<size_t>(selection.focus)];
    const std::vector<Rgba> pixels = screen->pixels();
    const auto countAt = [&pixels](int y, float left, float right) {
      int count = 0;
      for (int x = static_cast<int>(left); x < static_cast<int>(right); ++x)
        count += pixels[static_cast<size_t>(y) * kWidth + x] == theme::kAccent ? 1 : 0;
      return count;
    };
    EXPECT_GT(countAt(static_cast<int>(box.top) - 1, box.left, box.right),
              0.8F * (box.right - box.left))
        << "step " << step;
    EXPECT_TRUE(!selection.cell || place == TourPlace::Element || place == TourPlace::Heatmap ||
                place == TourPlace::Findings);
    press(ImGuiKey_RightArrow);
  }
  EXPECT_FALSE(session->selection().isGuided); // behind the last one
}

TEST(TourStepsTest, AreShortAndFew) {
  EXPECT_GE(tourSteps().size(), 6U);
  EXPECT_LE(tourSteps().size(), 10U);
  for (const TourStep &step : tourSteps())
    EXPECT_LT(step.text.size(), 170U) << step.text;
}

TEST(TourStepsTest, AnotherTraceIsRefused) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + "-no-tour.h5"))
          .string();
  ASSERT_TRUE(writeVectorAddTrace(path, 5000, 1024));
  std::string error;
  EXPECT_FALSE(Session::openTour(path, 0, error));
  EXPECT_NE(error.find("is not that of the tour"), std::string::npos) << error;
}

} // namespace
} // namespace blockscope::viz
