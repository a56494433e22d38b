// The tour's frame and its box of text.
#include "viz/panels/tour_overlay.h"

#include "viz/panels/keyboard.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace blockscope::viz {
namespace {

constexpr float kBoxWidth = 380;
constexpr float kLeastWidth = 260; ///< beside a target
constexpr float kGap = 14;
constexpr float kPadding = 16;

ScreenBox targetOf(const Selection &selection, TourPlace place) {
  switch (place) {
  case TourPlace::Header:
    return selection.headerBox;
  case TourPlace::Heatmap:
    return selection.panelBox[static_cast<size_t>(PanelKind::Heatmap)];
  case TourPlace::Programs:
    return selection.panelBox[static_cast<size_t>(PanelKind::Programs)];
  case TourPlace::Ops:
    return selection.panelBox[static_cast<size_t>(PanelKind::Ops)];
  case TourPlace::Source:
    return selection.panelBox[static_cast<size_t>(PanelKind::Source)];
  case TourPlace::Findings:
    return selection.panelBox[static_cast<size_t>(PanelKind::Findings)];
  case TourPlace::Element:
    return selection.elementBox;
  }
  return {};
}

ImVec2 sizeOf(const std::string &text, float width) {
  const float wrap = width - 2 * kPadding;
  return {width, ImGui::CalcTextSize(text.c_str(), nullptr, false, wrap).y +
                     ImGui::GetFrameHeight() + 3 * kPadding};
}

/// Beside the target where there is room, else below or above it; over a target that fills the
/// screen, at its lower edge: what it is called stays in sight.
ScreenBox placeBeside(const ScreenBox &target, const std::string &text, ImVec2 screen) {
  const auto at = [&](float x, float y, ImVec2 size) {
    x = std::floor(std::clamp(x, kGap, std::max(kGap, screen.x - size.x - kGap)));
    y = std::floor(std::clamp(y, kGap, std::max(kGap, screen.y - size.y - kGap)));
    return ScreenBox{x, y, x + size.x, y + size.y};
  };
  const float right = screen.x - target.right - 2 * kGap;
  const float left = target.left - 2 * kGap;
  if (std::max(left, right) >= kLeastWidth) {
    const bool isRight = right >= std::min(kBoxWidth, left);
    const ImVec2 size = sizeOf(text, std::min(kBoxWidth, isRight ? right : left));
    return at(isRight ? target.right + kGap : target.left - kGap - size.x,
              (target.top + target.bottom - size.y) / 2, size);
  }
  const ImVec2 size = sizeOf(text, std::min(kBoxWidth, screen.x - 2 * kGap));
  const float across = (target.left + target.right - size.x) / 2;
  if (target.bottom + size.y + 2 * kGap <= screen.y)
    return at(across, target.bottom + kGap, size);
  if (target.top - size.y - 2 * kGap >= 0)
    return at(across, target.top - kGap - size.y, size);
  const ImVec2 flat = sizeOf(text, screen.x - 2 * kGap);
  return at(kGap, screen.y, flat);
}

void dimAround(ImDrawList &draw, const ScreenBox &target, ImVec2 screen) {
  constexpr ImU32 kShade = IM_COL32(6, 8, 11, 150);
  draw.AddRectFilled({0, 0}, {screen.x, target.top}, kShade);
  draw.AddRectFilled({0, target.bottom}, screen, kShade);
  draw.AddRectFilled({0, target.top}, {target.left, target.bottom}, kShade);
  draw.AddRectFilled({target.right, target.top}, {screen.x, target.bottom}, kShade);
  draw.AddRect({target.left - 1, target.top - 1}, {target.right + 1, target.bottom + 1},
               theme::kAccent, 6, 0, 3);
}

} // namespace

void drawTour(const TraceModel &model, Selection &selection, Tour &tour) {
  handleKeys([&](Command command) { apply(command, model, selection, tour); });
  if (tour.isOver)
    return;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const TourStep &step = tourSteps()[tour.step];
  const ScreenBox target = targetOf(selection, step.place);
  const std::string text(step.text);
  tour.box = placeBeside(target, text, screen);
  const ImVec2 at = {tour.box.left, tour.box.top};
  const ImVec2 size = {tour.box.right - at.x, tour.box.bottom - at.y};
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(screen);
  ImGui::SetNextWindowFocus();
  ImGui::Begin("##tour", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollWithMouse);
  ImDrawList &draw = *ImGui::GetWindowDrawList();
  draw.PushClipRectFullScreen();
  dimAround(draw, target, screen);
  draw.PopClipRect();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(30, 34, 42, 255), 8);
  draw.AddRect(at, {at.x + size.x, at.y + size.y}, theme::kAccent, 8, 0, 2);
  draw.AddText(nullptr, 0, {at.x + kPadding, at.y + kPadding}, theme::kText, text.c_str(), nullptr,
               size.x - 2 * kPadding);
  const float y = tour.box.bottom - kPadding - ImGui::GetFrameHeight();
  const std::string number =
      std::to_string(tour.step + 1) + " of " + std::to_string(tourSteps().size());
  drawText({at.x + kPadding, y + 4}, theme::kFaint, number);
  const bool isLast = tour.step + 1 == tourSteps().size();
  struct Button {
    const char *label;
    Command command;
    bool isShown;
  };
  const std::initializer_list<Button> row = {{"Skip", Command::Clear, !isLast},
                                             {"Back", Command::Left, tour.step > 0},
                                             {isLast ? "Done" : "Next", Command::Right, true}};
  float left = at.x + size.x - kPadding;
  for (const Button &each : row)
    left -= each.isShown ? textWidth(each.label) + 2 * ImGui::GetStyle().FramePadding.x + 8 : 0;
  for (const Button &each : row) {
    if (!each.isShown)
      continue;
    ImGui::SetCursorScreenPos({left + 8, y});
    if (ImGui::Button(each.label))
      apply(each.command, model, selection, tour);
    left += textWidth(each.label) + 2 * ImGui::GetStyle().FramePadding.x + 8;
  }
  ImGui::End();
}

} // namespace blockscope::viz
