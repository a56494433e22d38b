// The source panel. A finding stands in a row of its own below its line.
#include "viz/panels/source_panel.h"

#include "viz/panels/python_colors.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace blockscope {
namespace {

constexpr float kCountWidth = 58;

std::vector<std::string_view> linesOf(const std::string &text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

/// Columns of the panel, in pixels of the screen.
struct Columns {
  float left;
  float number; ///< right end of line numbers
  float text;
  float reads;  ///< right end
  float writes; ///< right end
};

void drawCode(std::string_view line, char &inString, ImVec2 at, float right, ImU32 background) {
  ImFont *font = theme::monoFont();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const ImVec4 clip(at.x, at.y - 2, right, at.y + font->FontSize + 4);
  const bool tooLong = textWidth(std::string(line), font) > right - at.x;
  float x = at.x;
  for (const ColoredText &part : colorPython(line, inString)) {
    const char *end = part.text.data() + part.text.size();
    if (x < right)
      draw->AddText(font, font->FontSize, {x, at.y}, part.color, part.text.data(), end, 0, &clip);
    x += font->CalcTextSizeA(font->FontSize, 1e9F, 0, part.text.data(), end).x;
  }
  if (!tooLong)
    return;
  const float mark = textWidth("\u2026", font) + 3;
  draw->AddRectFilled({right - mark, at.y - 1}, {right, at.y + font->FontSize + 2}, background);
  draw->AddText(font, font->FontSize, {right - mark + 2, at.y}, theme::kFaint, "\u2026");
  if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, {right, at.y + font->FontSize}))
    ImGui::SetTooltip("%.*s", static_cast<int>(line.size()), line.data());
}

/// Layout of the row of a finding below its line.
struct FindingRow {
  std::string text;
  std::string count;
  float wrap;
  float height;
  FindingRow(const TraceFinding &finding, const Columns &columns)
      : text(finding.code + ": " + finding.message),
        count(finding.count > 1 ? countText(finding.count) + "x" : ""),
        wrap(std::max(60.0F, columns.writes - columns.text - 24 - textWidth(count))),
        height(ImGui::CalcTextSize(text.c_str(), nullptr, false, wrap).y + 8) {}
};

void drawFindingRow(const TraceModel &model, Selection &selection, size_t number,
                    const Columns &columns) {
  const TraceFinding &finding = model.launch().findings[number];
  const FindingRow row(finding, columns);
  const ImU32 color = theme::severityColor(finding.severity.c_str());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 low = {columns.text - 4, at.y + 1};
  const ImVec2 high = {columns.writes + 4, at.y + row.height - 2};
  ImGui::SetCursorScreenPos(low);
  ImGui::PushID(static_cast<int>(number));
  if (ImGui::InvisibleButton("finding", {high.x - low.x, high.y - low.y}))
    selectFinding(model, selection, static_cast<int>(number));
  ImGui::PopID();
  const bool chosen = selection.finding == static_cast<int>(number);
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(low, high, (color & 0x00ffffffU) | (chosen ? 0x58000000U : 0x26000000U), 3);
  draw->AddRectFilled(low, {low.x + 3, high.y}, color, 2);
  drawTextRight(columns.writes - 4, at.y + 3, color, row.count);
  draw->AddText(nullptr, 0, {columns.text + 6, at.y + 3}, color, row.text.c_str(), nullptr,
                row.wrap);
  ImGui::SetCursorScreenPos({at.x, at.y + row.height});
}

void drawLine(const TraceModel &model, Selection &selection, int line, std::string_view text,
              char &inString, const Columns &columns) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = theme::monoFont()->FontSize + 5;
  const bool chosen = selection.line == line;
  const AccessCounts counts = model.lineCounts(selection.source, line);
  const std::vector<size_t> findings = model.findingsOfLine(selection.source, line);
  ImGui::PushID(line);
  if (ImGui::InvisibleButton("line", {columns.writes - columns.left + 4, height}))
    selectLine(model, selection, selection.source, line);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  if (chosen && selection.scrollsToChoice)
    ImGui::SetScrollHereY(0.4F);
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (chosen || hovered)
    draw->AddRectFilled({at.x, at.y}, {columns.writes + 4, at.y + height},
                        chosen ? theme::kChosen : theme::kHovered, 3);
  if (!findings.empty())
    draw->AddCircleFilled(
        {columns.left + 5, at.y + height / 2}, 4,
        theme::severityColor(model.launch().findings[findings[0]].severity.c_str()));
  drawTextRight(columns.number, at.y + 2, chosen ? theme::kText : theme::kFaint,
                std::to_string(line), theme::monoFont());
  const uint64_t reads = counts.loads + counts.atomics;
  const uint64_t writes = counts.stores + counts.atomics;
  const std::string readText = reads > 0 ? countText(reads) : "";
  const std::string writeText = writes > 0 ? countText(writes) : "";
  const float right = reads > 0    ? columns.reads - textWidth(readText) - 8
                      : writes > 0 ? columns.writes - textWidth(writeText) - 8
                                   : columns.writes;
  drawCode(text, inString, {columns.text, at.y + 2}, right,
           chosen    ? theme::kChosen
           : hovered ? theme::kHovered
                     : theme::kPanel);
  drawTextRight(columns.reads, at.y + 1, theme::kRead, readText);
  drawTextRight(columns.writes, at.y + 1, theme::kWrite, writeText);
  ImGui::SetCursorScreenPos({at.x, at.y + height});
  for (const size_t finding : findings)
    drawFindingRow(model, selection, finding, columns);
}

/// The line to begin with: above the first op, so that the kernel is in sight.
int firstLineOfInterest(const TraceModel &model, int source) {
  int first = 0;
  for (const TraceOp &op : model.launch().ops)
    if (op.source == source && op.line > 0 && (first == 0 || op.line < first))
      first = op.line;
  return first;
}

void drawFileChoice(const TraceModel &model, Selection &selection) {
  if (model.sources().size() < 2)
    return;
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  const std::string chosen = fitted(model.sources()[static_cast<size_t>(selection.source)].path,
                                    ImGui::GetContentRegionAvail().x - 50);
  if (!ImGui::BeginCombo("##file", chosen.c_str()))
    return;
  for (size_t index = 0; index < model.sources().size(); ++index) {
    ImGui::PushID(static_cast<int>(index));
    if (ImGui::Selectable(model.sources()[index].path.c_str(),
                          static_cast<int>(index) == selection.source)) {
      selection.source = static_cast<int>(index);
      selection.line = 0;
    }
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

} // namespace

void drawSourcePanel(const TraceModel &model, Selection &selection) {
  const bool hasSource =
      selection.source >= 0 && selection.source < static_cast<int>(model.sources().size());
  const PanelFrame frame(
      PanelKind::Source, selection,
      hasSource ? fileName(model.sources()[static_cast<size_t>(selection.source)].path) : "");
  if (!hasSource) {
    drawEmpty("the trace holds no source text");
    return;
  }
  drawFileChoice(model, selection);
  const TraceSource &source = model.sources()[static_cast<size_t>(selection.source)];
  const std::vector<std::string_view> lines = linesOf(source.text);
  if (lines.empty()) {
    drawEmpty("the text of this file was not recorded");
    return;
  }
  const ImVec2 head = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  Columns columns{};
  columns.left = head.x;
  const int lastLine = source.firstLine + static_cast<int>(lines.size()) - 1;
  columns.number = head.x + 16 + textWidth(std::to_string(lastLine), theme::monoFont());
  columns.text = columns.number + 12;
  columns.writes = head.x + width - 14; // the scroll bar stays free
  columns.reads = columns.writes - kCountWidth;
  drawTextRight(columns.reads, head.y, theme::kRead, "read");
  drawTextRight(columns.writes, head.y, theme::kWrite, "written");
  ImGui::SetCursorScreenPos({head.x, head.y + ImGui::GetFontSize() + 4});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("lines", {0, 0}, false, ImGuiWindowFlags_NoNavInputs);
  const float lineHeight = theme::monoFont()->FontSize + 5;
  const float top = ImGui::GetCursorPosY();
  if (ImGui::IsWindowAppearing() && selection.line == 0) {
    const int first = firstLineOfInterest(model, selection.source);
    const auto below = static_cast<float>(first - source.firstLine);
    if (top + below * lineHeight > ImGui::GetWindowHeight() * 0.7F)
      ImGui::SetScrollY(std::max(0.0F, (below - 8) * lineHeight));
  }
  char inString = 0;
  const float sightTop = ImGui::GetWindowPos().y;
  const float sightBottom = sightTop + ImGui::GetWindowHeight();
  for (size_t index = 0; index < lines.size(); ++index) {
    const int line = source.firstLine + static_cast<int>(index);
    const float y = ImGui::GetCursorScreenPos().y;
    const bool isWanted = selection.line == line && selection.scrollsToChoice;
    if (!isWanted && (y + lineHeight < sightTop || y > sightBottom)) { // out of sight
      float height = lineHeight;
      for (const size_t finding : model.findingsOfLine(selection.source, line))
        height += FindingRow(model.launch().findings[finding], columns).height;
      colorPython(lines[index], inString);
      ImGui::Dummy({1, height});
      continue;
    }
    drawLine(model, selection, line, lines[index], inString, columns);
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

} // namespace blockscope
