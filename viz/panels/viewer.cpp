// Layout of the viewer.
#include "viz/panels/viewer.h"

#include "viz/panels/findings_panel.h"
#include "viz/panels/header.h"
#include "viz/panels/heatmap_panel.h"
#include "viz/panels/help_overlay.h"
#include "viz/panels/history_panel.h"
#include "viz/panels/keyboard.h"
#include "viz/panels/layout.h"
#include "viz/panels/ops_panel.h"
#include "viz/panels/pictures.h"
#include "viz/panels/programs_panel.h"
#include "viz/panels/roofline_panel.h"
#include "viz/panels/source_panel.h"
#include "viz/panels/traffic_panel.h"
#include "viz/panels/widgets.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kGap = kPanelGap;

using DrawPanel = void (*)(const TraceModel &, Selection &);

void place(const char *name, ImVec2 at, ImVec2 size, DrawPanel draw, const TraceModel &model,
           Selection &selection) {
  ImGui::SetCursorPos({std::floor(at.x), std::floor(at.y)});
  ImGui::BeginChild(name, {std::floor(size.x), std::floor(size.y)}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                        ImGuiWindowFlags_NoNavInputs);
  draw(model, selection);
  ImGui::EndChild();
}

/// What is open below the heat map.
void drawDrawer(const TraceModel &model, Selection &selection) {
  if (selection.drawer == PanelKind::History)
    drawHistoryPanel(model, selection);
  else if (selection.drawer == PanelKind::Traffic)
    drawTrafficPanel(model, selection);
  else if (selection.drawer == PanelKind::Roofline)
    drawRooflinePanel(model, selection);
}

DrawPanel drawingOf(PanelKind panel) {
  switch (panel) {
  case PanelKind::Heatmap:
    return drawHeatmapPanel;
  case PanelKind::Programs:
    return drawProgramsPanel;
  case PanelKind::Ops:
    return drawOpsPanel;
  case PanelKind::Source:
    return drawSourcePanel;
  case PanelKind::Findings:
    return drawFindingsPanel;
  case PanelKind::History:
  case PanelKind::Traffic:
  case PanelKind::Roofline:
    return drawDrawer;
  }
  return drawHeatmapPanel;
}

/// The heat map, and the drawer that is open below it.
void drawMiddle(const TraceModel &model, Selection &selection, ImVec2 at, ImVec2 size) {
  const float drawer = selection.drawer ? std::floor(size.y * 0.36F) : -kGap;
  place("middle", at, {size.x, size.y - drawer - kGap}, drawHeatmapPanel, model, selection);
  if (drawer > 0)
    place("drawer", {at.x, at.y + size.y - drawer}, {size.x, drawer}, drawDrawer, model, selection);
}

/// The heat map, and one of the other panels or the drawer.
void drawTwo(const TraceModel &model, Selection &selection, float top, float height) {
  const float screen = ImGui::GetIO().DisplaySize.x;
  const float left = std::floor(screen * 0.48F);
  const float side = left + 2 * kGap;
  const float width = screen - left - 3 * kGap;
  place("middle", {kGap, top}, {left, height}, drawHeatmapPanel, model, selection);
  const PanelKind shown = sidePanel(selection);
  ImGui::SetCursorPos({side, top});
  drawTabs(selection, PanelKind::Programs, shown, width);
  place("side", {side, top + kTabsHeight}, {width, height - kTabsHeight}, drawingOf(shown), model,
        selection);
}

void drawOne(const TraceModel &model, Selection &selection, float top, float height) {
  const float width = ImGui::GetIO().DisplaySize.x - 2 * kGap;
  const PanelKind shown = onlyPanel(selection);
  ImGui::SetCursorPos({kGap, top});
  drawTabs(selection, PanelKind::Heatmap, shown, width);
  place("only", {kGap, top + kTabsHeight}, {width, height - kTabsHeight}, drawingOf(shown), model,
        selection);
}

} // namespace

void drawViewer(const TraceModel &model, Selection &selection) {
  if (!selection.isGuided)
    handleKeys(model, selection);
  const bool scrolls = selection.scrollsToChoice;
  if (!selection.pictures)
    selection.pictures = std::make_shared<Pictures>();
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  beginScreen("##viewer");
  const float top = headerHeight(screen);
  const float height = std::max(120.0F, screen.y - top - kStatusHeight - kGap);
  drawHeader(model, selection, top);
  selection.headerBox = {4, 4, screen.x - 4, top - 2};
  const Room room = roomOf(screen);
  if (room == Room::Two) {
    drawTwo(model, selection, top, height);
  } else if (room == Room::One) {
    drawOne(model, selection, top, height);
  } else {
    const PanelSizes sizes =
        panelSizes(selection.look, screen, height, /*hasFinding=*/selection.finding >= 0);
    const float right = sizes.left + sizes.middle + 3 * kGap;
    place("left top", {kGap, top}, {sizes.left, sizes.leftUpper}, drawProgramsPanel, model,
          selection);
    place("left bottom", {kGap, top + sizes.leftUpper + kGap},
          {sizes.left, height - sizes.leftUpper - kGap}, drawOpsPanel, model, selection);
    drawMiddle(model, selection, {sizes.left + 2 * kGap, top}, {sizes.middle, height});
    place("right top", {right, top}, {sizes.right, sizes.rightUpper}, drawSourcePanel, model,
          selection);
    place("right bottom", {right, top + sizes.rightUpper + kGap},
          {sizes.right, height - sizes.rightUpper - kGap}, drawFindingsPanel, model, selection);
    drawSplitters(selection.look, sizes, top, height);
  }
  drawStatus(model, selection, screen.y - kStatusHeight, kStatusHeight);
  ImGui::End();
  if (selection.showsHelp)
    drawHelpOverlay(selection);
  if (scrolls)
    selection.scrollsToChoice = false;
}

} // namespace blockscope::viz
