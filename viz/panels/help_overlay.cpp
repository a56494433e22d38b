// The help overlay in two columns.
#include "viz/panels/help_overlay.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kKeyWidth = 250;
constexpr float kTextWidth = 350;
constexpr float kLine = 24;

} // namespace

void drawHelpOverlay(Selection &selection, std::span<const HelpLine> lines) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float width = std::min(kKeyWidth + kTextWidth + 60, screen.x - 20);
  const float height = std::min(static_cast<float>(lines.size()) * kLine + 96, screen.y - 20);
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
  constexpr float kTop = 62;
  const int count = static_cast<int>(lines.size());
  const int shown = std::clamp(static_cast<int>((height - kTop - 12) / kLine), 1, count);
  if (ImGui::GetIO().MouseWheel != 0)
    selection.helpRow -= ImGui::GetIO().MouseWheel > 0 ? 3 : -3;
  selection.helpRow = std::clamp(selection.helpRow, 0, count - shown);
  drawText({at.x + 30, at.y + 20}, theme::kText, "Keys", 200, theme::titleFont());
  const std::string more = shown < count ? "arrows: rows " + std::to_string(selection.helpRow + 1) +
                                               " to " + std::to_string(selection.helpRow + shown) +
                                               " of " + std::to_string(count) + "     "
                                         : "";
  drawTextRight(at.x + width - 30, at.y + 24, theme::kFaint, more + "Esc closes");
  float y = at.y + kTop;
  for (int row = selection.helpRow; row < selection.helpRow + shown; ++row) {
    const HelpLine &line = lines[static_cast<size_t>(row)];
    if (line.text.empty()) {
      drawText({at.x + 30, y + 3}, theme::kAccent, std::string(line.keys), width,
               theme::boldFont());
    } else {
      drawText({at.x + 30, y}, theme::kText, std::string(line.keys), kKeyWidth - 10);
      drawText({at.x + 30 + kKeyWidth, y}, theme::kFaint, std::string(line.text),
               width - 60 - kKeyWidth);
    }
    y += kLine;
  }
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
      !ImGui::IsMouseHoveringRect(at, {at.x + width, at.y + height}))
    selection.showsHelp = false;
  ImGui::End();
}

} // namespace blockscope::viz
