// Layout of the viewer.
#include "viz/panels/viewer.h"

#include "viz/panels/findings_panel.h"
#include "viz/panels/header.h"
#include "viz/panels/heatmap_panel.h"
#include "viz/panels/help_overlay.h"
#include "viz/panels/keyboard.h"
#include "viz/panels/ops_panel.h"
#include "viz/panels/programs_panel.h"
#include "viz/panels/source_panel.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kGap = 8;
constexpr float kHeaderHeight = 62;
constexpr float kStatusHeight = 28;

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

} // namespace

void drawViewer(const TraceModel &model, Selection &selection) {
  handleKeys(model, selection);
  const bool scrolls = selection.scrollsToChoice;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(screen);
  ImGui::Begin("##viewer", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBackground | // the frame is cleared to its colour
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollWithMouse);
  const float left = std::clamp(screen.x * 0.18F, 200.0F, 330.0F);
  const float right = std::clamp(screen.x * 0.36F, 250.0F, 760.0F);
  const float middle = std::max(200.0F, screen.x - left - right - 4 * kGap);
  const float top = kHeaderHeight;
  const float height = std::max(200.0F, screen.y - kHeaderHeight - kStatusHeight - kGap);
  ImGui::SetCursorPos({0, 0});
  drawHeader(model, selection, kHeaderHeight);
  const float programs = std::floor(height * 0.46F);
  place("left top", {kGap, top}, {left, programs}, drawProgramsPanel, model, selection);
  place("left bottom", {kGap, top + programs + kGap}, {left, height - programs - kGap},
        drawOpsPanel, model, selection);
  place("middle", {left + 2 * kGap, top}, {middle, height}, drawHeatmapPanel, model, selection);
  // A chosen finding is told of at length.
  const float source = std::floor(height * (selection.finding >= 0 ? 0.5F : 0.62F));
  place("right top", {left + middle + 3 * kGap, top}, {right, source}, drawSourcePanel, model,
        selection);
  place("right bottom", {left + middle + 3 * kGap, top + source + kGap},
        {right, height - source - kGap}, drawFindingsPanel, model, selection);
  drawStatus(model, selection, screen.y - kStatusHeight, kStatusHeight);
  ImGui::End();
  if (selection.showsHelp)
    drawHelpOverlay(selection);
  if (scrolls)
    selection.scrollsToChoice = false;
}

} // namespace blockscope::viz
