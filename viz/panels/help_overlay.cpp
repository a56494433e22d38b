// The help overlay in two columns.
#include "viz/panels/help_overlay.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kKeyWidth = 250;
constexpr float kTextWidth = 330;
constexpr float kLine = 24;

} // namespace

void drawHelpOverlay(Selection &selection) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float lines = static_cast<float>(helpLines().size());
  const float width = std::min(kKeyWidth + kTextWidth + 60, screen.x - 20);
  const float height = std::min(lines * kLine + 96, screen.y - 20);
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(screen);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, IM_COL32(8, 10, 14, 190));
  ImGui::Begin("##help", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleColor();
  ImGui::SetCursorPos({std::floor((screen.x - width) / 2), std::floor((screen.y - height) / 2)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(at, {at.x + width, at.y + height}, IM_COL32(30, 34, 42, 255), 8);
  draw->AddRect(at, {at.x + width, at.y + height}, theme::kAccent, 8, 0, 1);
  ImGui::BeginChild("keys", {width, height});
  const ImVec2 top = ImGui::GetCursorScreenPos();
  drawText({top.x + 30, top.y + 20}, theme::kText, "Keys", 200, theme::titleFont());
  drawTextRight(top.x + width - 30, top.y + 24, theme::kFaint, "Esc closes");
  float y = top.y + 62;
  for (const HelpLine &line : helpLines()) {
    if (line.text.empty()) {
      drawText({top.x + 30, y + 3}, theme::kAccent, std::string(line.keys), width,
               theme::boldFont());
    } else {
      drawText({top.x + 30, y}, theme::kText, std::string(line.keys), kKeyWidth - 10);
      drawText({top.x + 30 + kKeyWidth, y}, theme::kFaint, std::string(line.text),
               width - 60 - kKeyWidth);
    }
    y += kLine;
  }
  ImGui::SetCursorScreenPos(top);
  ImGui::Dummy({width, y - top.y + 12});
  ImGui::EndChild();
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
      !ImGui::IsMouseHoveringRect(at, {at.x + width, at.y + height}))
    selection.showsHelp = false;
  ImGui::End();
}

} // namespace blockscope::viz
