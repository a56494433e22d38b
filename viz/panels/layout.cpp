// Sizes, splitters, tabs.
#include "viz/panels/layout.h"

#include "viz/model/commands.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace blockscope::viz {
namespace {

constexpr float kNarrowest = 880;      ///< that has five panels
constexpr float kNarrowestOfTwo = 600; ///< that has two
constexpr float kLowest = 420;         ///< that has two lines above the panels
constexpr float kLeastTabPadding = 4;
constexpr float kMostTabPadding = 16;
constexpr float kLeastLeft = 150;
constexpr float kLeastMiddle = 200;
constexpr float kLeastRight = 220;
constexpr float kLeastSplit = 0.15F;
constexpr float kMostSplit = 0.85F;

/// How the panels are called in tabs; by their keys only the one that is shown has its name.
enum class TabNames : uint8_t { Whole, Short, Keys };

std::string tabName(PanelKind panel, TabNames form, bool isShown) {
  if (form == TabNames::Keys && !isShown)
    return std::to_string(static_cast<int>(panel) + 1);
  if (form != TabNames::Whole && panel == PanelKind::Ops)
    return "Ops";
  if (form != TabNames::Whole && panel == PanelKind::Traffic)
    return "Traffic";
  return std::string(panelTitle(panel));
}

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

Room roomOf(ImVec2 screen) {
  return screen.x >= kNarrowest ? Room::Five : screen.x >= kNarrowestOfTwo ? Room::Two : Room::One;
}

float headerHeight(ImVec2 screen) { return screen.y >= kLowest ? 62 : 40; }

PanelKind sidePanel(Selection &selection) {
  const PanelKind before = selection.sidePanel;
  if (selection.focus != PanelKind::Heatmap)
    selection.sidePanel = selection.focus;
  if (isDrawer(selection.sidePanel) && selection.drawer != selection.sidePanel) // closed
    selection.sidePanel = selection.drawer.value_or(PanelKind::Findings);
  selection.scrollsToChoice = selection.scrollsToChoice || selection.sidePanel != before;
  return selection.sidePanel;
}

PanelKind onlyPanel(Selection &selection) {
  if (selection.focus != PanelKind::Heatmap)
    selection.opened.reset();
  return selection.opened.value_or(selection.focus);
}

void drawTabs(Selection &selection, PanelKind first, PanelKind shown, float width) {
  std::vector<PanelKind> panels;
  for (int panel = static_cast<int>(first); panel < kPanelCount; ++panel)
    if (const auto kind = static_cast<PanelKind>(panel);
        !isDrawer(kind) || selection.drawer == kind)
      panels.push_back(kind);
  std::vector<std::string> names;
  float padding = 0;
  for (const TabNames form : {TabNames::Whole, TabNames::Short, TabNames::Keys}) {
    names.clear();
    float needed = 0;
    for (const PanelKind panel : panels) {
      names.push_back(tabName(panel, form, panel == shown));
      needed += textWidth(names.back());
    }
    padding = std::min(kMostTabPadding, (width - needed) / (2 * static_cast<float>(panels.size())));
    if (padding >= kLeastTabPadding)
      break;
  }
  const float height = ImGui::GetFrameHeight();
  ImVec2 at = ImGui::GetCursorScreenPos();
  for (size_t tab = 0; tab < panels.size(); ++tab) {
    const PanelKind kind = panels[tab];
    const float room = textWidth(names[tab]) + 2 * padding;
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(kind));
    if (ImGui::InvisibleButton("side", {room, height}))
      focusPanel(selection, kind);
    const bool isHovered = ImGui::IsItemHovered();
    ImGui::PopID();
    if (kind == shown || isHovered)
      ImGui::GetWindowDrawList()->AddRectFilled({at.x + 1, at.y}, {at.x + room - 1, at.y + height},
                                                kind == shown ? theme::kChosen : theme::kHovered,
                                                4);
    if (isHovered && names[tab] != panelTitle(kind))
      ImGui::SetTooltip("%s", std::string(panelTitle(kind)).c_str());
    drawText({at.x + padding, at.y + 4}, kind == shown ? theme::kText : theme::kFaint, names[tab]);
    at.x += room;
  }
}

} // namespace blockscope::viz
