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

/// Beside the target where there is room, else below or above it.
ImVec2 placeBeside(const ScreenBox &target, ImVec2 size, ImVec2 screen) {
  const float middle = (target.top + target.bottom - size.y) / 2;
  const float across = (target.left + target.right - size.x) / 2;
  const ImVec2 inside = {screen.x - size.x - kGap, screen.y - size.y - kGap};
  const auto clamped = [&](float x, float y) {
    return ImVec2{std::floor(std::clamp(x, kGap, std::max(kGap, inside.x))),
                  std::floor(std::clamp(y, kGap, std::max(kGap, inside.y)))};
  };
  if (target.right + kGap <= inside.x)
    return clamped(target.right + kGap, middle);
  if (target.left - kGap - size.x >= kGap)
    return clamped(target.left - kGap - size.x, middle);
  return target.bottom + kGap <= inside.y ? clamped(across, target.bottom + kGap)
                                          : clamped(across, target.top - kGap - size.y);
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
  const float width = std::min(kBoxWidth, screen.x - 2 * kGap);
  const std::string text(step.text);
  const float textHeight =
      ImGui::CalcTextSize(text.c_str(), nullptr, false, width - 2 * kPadding).y;
  const float buttons = ImGui::GetFrameHeight();
  const ImVec2 size = {width, textHeight + buttons + 3 * kPadding};
  const ImVec2 at = placeBeside(target, size, screen);
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
               width - 2 * kPadding);
  const float y = at.y + 2 * kPadding + textHeight;
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
