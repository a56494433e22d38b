// Sizes, splitters, tabs.
#include "viz/panels/layout.h"

#include "viz/model/commands.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace blockscope::viz {
namespace {

constexpr float kNarrowest = 880; ///< that has five panels
constexpr float kLeastLeft = 150;
constexpr float kLeastMiddle = 200;
constexpr float kLeastRight = 220;
constexpr float kLeastSplit = 0.15F;
constexpr float kMostSplit = 0.85F;

/// The gap between two panels as something to be dragged; returns how far.
float drag(const char *name, ImVec2 at, ImVec2 size, bool isUpright, bool &isReset) {
  ImGui::SetCursorPos(at);
  ImGui::InvisibleButton(name, size);
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
    ImGui::SetMouseCursor(isUpright ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    ImGui::GetWindowDrawList()->AddRectFilled(
        {at.x + (isUpright ? 3.0F : 0), at.y + (isUpright ? 0 : 3.0F)},
        {at.x + size.x - (isUpright ? 3.0F : 0), at.y + size.y - (isUpright ? 0 : 3.0F)},
        theme::kAccent, 1);
    isReset = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  }
  const ImVec2 delta = ImGui::GetIO().MouseDelta;
  return !ImGui::IsItemActive() ? 0 : isUpright ? delta.x : delta.y;
}

/// Changes a share by what was dragged of `whole`.
void change(float &share, float length, float moved, float whole, bool isReset) {
  if (isReset)
    share = 0;
  else if (moved != 0)
    share = std::clamp((length + moved) / whole, 0.01F, 0.99F);
}

} // namespace

PanelSizes panelSizes(const Look &look, ImVec2 screen, float height, bool hasFinding) {
  const auto length = [](float share, float whole, float usual) {
    return share > 0 ? share * whole : usual;
  };
  const float columns = screen.x - 4 * kPanelGap;
  PanelSizes sizes{};
  sizes.left = length(look.leftShare, screen.x, std::clamp(screen.x * 0.18F, 200.0F, 330.0F));
  sizes.right = length(look.rightShare, screen.x, std::clamp(screen.x * 0.36F, 250.0F, 760.0F));
  sizes.left = std::clamp(sizes.left, kLeastLeft, columns - kLeastMiddle - kLeastRight);
  sizes.right = std::clamp(sizes.right, kLeastRight, columns - kLeastMiddle - sizes.left);
  sizes.middle = columns - sizes.left - sizes.right;
  const auto split = [height](float share, float usual) {
    return std::floor(height * std::clamp(share > 0 ? share : usual, kLeastSplit, kMostSplit));
  };
  sizes.leftUpper = split(look.leftSplit, 0.46F);
  // A chosen finding is told of at length.
  sizes.rightUpper = split(look.rightSplit, hasFinding ? 0.5F : 0.62F);
  return sizes;
}

void drawSplitters(Look &look, const PanelSizes &sizes, float top, float height) {
  const float screen = ImGui::GetIO().DisplaySize.x;
  const float right = sizes.left + sizes.middle + 3 * kPanelGap;
  bool isReset = false;
  float moved = drag("split left", {sizes.left + kPanelGap, top}, {kPanelGap, height},
                     /*isUpright=*/true, isReset);
  change(look.leftShare, sizes.left, moved, screen, std::exchange(isReset, false));
  moved = drag("split right", {right - kPanelGap, top}, {kPanelGap, height}, /*isUpright=*/true,
               isReset);
  change(look.rightShare, sizes.right, -moved, screen, std::exchange(isReset, false));
  moved = drag("split programs", {kPanelGap, top + sizes.leftUpper}, {sizes.left, kPanelGap},
               /*isUpright=*/false, isReset);
  change(look.leftSplit, sizes.leftUpper, moved, height, std::exchange(isReset, false));
  moved = drag("split source", {right, top + sizes.rightUpper}, {sizes.right, kPanelGap},
               /*isUpright=*/false, isReset);
  change(look.rightSplit, sizes.rightUpper, moved, height, isReset);
}

bool isNarrow(ImVec2 screen) { return screen.x < kNarrowest; }

void drawSideTabs(Selection &selection, float width) {
  if (selection.focus != PanelKind::Heatmap && selection.focus != selection.sidePanel) {
    selection.sidePanel = selection.focus;
    selection.scrollsToChoice = true;
  }
  constexpr int kFirst = 1;
  float names = 0;
  for (int panel = kFirst; panel < kPanelCount; ++panel)
    names += textWidth(std::string(panelTitle(static_cast<PanelKind>(panel))));
  const float padding = std::max(2.0F, (width - names) / (2 * (kPanelCount - kFirst)));
  const float height = ImGui::GetFrameHeight();
  ImVec2 at = ImGui::GetCursorScreenPos();
  for (int panel = kFirst; panel < kPanelCount; ++panel) {
    const auto kind = static_cast<PanelKind>(panel);
    const std::string name(panelTitle(kind));
    const float room = textWidth(name) + 2 * padding;
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(panel);
    if (ImGui::InvisibleButton("side", {room, height}))
      selection.focus = kind;
    const bool isHovered = ImGui::IsItemHovered();
    ImGui::PopID();
    const bool isShown = selection.sidePanel == kind;
    if (isShown || isHovered)
      ImGui::GetWindowDrawList()->AddRectFilled({at.x + 1, at.y}, {at.x + room - 1, at.y + height},
                                                isShown ? theme::kChosen : theme::kHovered, 4);
    drawText({at.x + padding, at.y + 4}, isShown ? theme::kText : theme::kFaint, name);
    at.x += room;
  }
}

} // namespace blockscope::viz
