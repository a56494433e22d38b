// The list of the traces of a folder, a row for each file.
#include "viz/panels/folder_view.h"

#include "viz/panels/header.h"
#include "viz/panels/help_overlay.h"
#include "viz/panels/keyboard.h"
#include "viz/panels/layout.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kGap = 8;
constexpr float kBytesWidth = 76; ///< of the column of sizes

/// A file's second line: what is in it, or why it cannot be shown.
std::string factsOf(const FolderEntry &entry) {
  if (!entry.isRead)
    return "not read yet";
  if (!entry.problem.empty())
    return entry.problem;
  if (!entry.how.empty())
    return "a launch file: " + entry.how + " records and shows it";
  return (entry.launches == 1 ? "1 launch" : fullCountText(entry.launches) + " launches") + " of " +
         kernelsText(entry);
}

void drawEntry(FolderView &view, const FolderEntry &entry, size_t index) {
  const float font = ImGui::GetFontSize();
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string facts = factsOf(entry);
  const float wrap = width - 30;
  const std::vector<std::string> lines = wrappedLines(facts, wrap);
  const float height = font * static_cast<float>(1 + lines.size()) + 16;
  const bool isChosen = view.row == index;
  if (isChosen && view.shared.scrollsToChoice)
    ImGui::SetScrollHereY(0.5F);
  ImGui::PushID(static_cast<int>(index));
  if (ImGui::InvisibleButton("entry", {width, height})) {
    view.row = index;
    view.shared.wish = Wish::OpenTrace;
  }
  const bool isHovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (isChosen || isHovered)
    draw->AddRectFilled(at, {at.x + width, at.y + height},
                        isChosen ? theme::kChosen : theme::kHovered, 4);
  const bool isShown = entry.isRead && entry.problem.empty() && entry.how.empty();
  const ImU32 color = !isShown             ? theme::kFaint
                      : entry.errors > 0   ? theme::kError
                      : entry.warnings > 0 ? theme::kWarning
                      : entry.notes > 0    ? theme::kNote
                                           : IM_COL32(96, 190, 120, 255);
  draw->AddCircleFilled({at.x + 9, at.y + 5 + font / 2}, 4.5F, color);
  const std::string found = isShown ? findingsText(entry) : "";
  const std::string findings = found.starts_with("none") ? "no findings" : found;
  const std::string bytes = bytesText(static_cast<int64_t>(entry.bytes));
  const float right = at.x + width - 8;
  drawTextRight(right, at.y + 4, theme::kFaint, bytes);
  const float bytesWidth = std::max(kBytesWidth, textWidth(bytes));
  const float findingsWidth =
      std::min(textWidth(findings), std::max(0.0F, width * 0.6F - bytesWidth));
  drawText({right - bytesWidth - 20 - findingsWidth, at.y + 4},
           found != "none" ? color : theme::kFaint, findings, findingsWidth + 1);
  drawText({at.x + 22, at.y + 4}, entry.problem.empty() ? theme::kText : theme::kFaint, entry.name,
           width - 60 - bytesWidth - findingsWidth, theme::boldFont());
  drawLines({at.x + 22, at.y + font + 9}, entry.problem.empty() ? theme::kFaint : theme::kWarning,
            lines, wrap);
}

void drawList(const TraceFolder &folder, FolderView &view) {
  const auto &entries = folder.entries();
  const auto unread = static_cast<size_t>(std::count_if(
      entries.begin(), entries.end(), [](const FolderEntry &each) { return !each.isRead; }));
  const auto launchFiles = static_cast<size_t>(std::count_if(
      entries.begin(), entries.end(), [](const FolderEntry &each) { return !each.how.empty(); }));
  const auto broken = static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(),
                    [](const FolderEntry &each) { return !each.problem.empty(); }));
  std::string summary = plural(entries.size(), "file");
  if (launchFiles > 0)
    summary += ", " + plural(launchFiles, "launch file");
  if (unread > 0)
    summary += ", " + fullCountText(unread) + " still to be read";
  if (broken > 0)
    summary += ", " + fullCountText(broken) + " that cannot be shown";
  if (folder.leftOut() > 0)
    summary += ", " + fullCountText(folder.leftOut()) + " more are left out";
  const PanelFrame frame("Traces", "", summary);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8, 3));
  for (size_t index = 0; index < entries.size(); ++index)
    drawEntry(view, entries[index], index);
  ImGui::PopStyleVar();
}

} // namespace

void drawFolder(const TraceFolder &folder, FolderView &view) {
  handleKeys([&](Command command) { apply(command, folder, view); });
  const bool scrolls = view.shared.scrollsToChoice;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  beginScreen("##folder");
  const float top = headerHeight(screen);
  const float buttons = drawButtons(view.shared, top);
  const float width = screen.x - buttons - 40;
  drawText({16, top < 60 ? 8.0F : 10.0F}, theme::kText, fileName(folder.fullPath()), width,
           theme::titleFont());
  if (top >= 60)
    drawText({16, 38}, theme::kFaint, folder.fullPath(), width);
  ImGui::SetCursorPos({kGap, top});
  ImGui::BeginChild("list", {screen.x - 2 * kGap, screen.y - top - kStatusHeight - kGap}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  drawList(folder, view);
  ImGui::EndChild();
  drawStatusLine(view.shared, "choose a trace", "arrows  choose     Enter  look at it     h  help",
                 screen.y - kStatusHeight, kStatusHeight);
  ImGui::End();
  if (view.shared.showsHelp)
    drawHelpOverlay(view.shared, folderHelpLines());
  if (scrolls)
    view.shared.scrollsToChoice = false;
}

} // namespace blockscope::viz
