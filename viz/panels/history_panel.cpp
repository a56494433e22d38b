// The history panel. Only the rows in sight are drawn: an element may have a million.
#include "viz/panels/history_panel.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace blockscope::viz {
namespace {

/// Left ends of the columns: as wide as what stands in them; the line and op has the rest. Values
/// that have no room beside it stand in a second line.
struct Columns {
  float left, access, program, place, placeEnd, before, after, right;
  bool hasSecondLine = false;
  Columns(const TraceModel &model, const ElementHistory &history, float from, float width)
      : left(from + 8), right(from + width - 14) {
    constexpr float kSpace = 16;
    access = left + kSpace +
             std::max(textWidth("access"), textWidth(fullCountText(history.entries.size())));
    float verbs = 0;
    for (const TraceAccessKind kind :
         {TraceAccessKind::Read, TraceAccessKind::Write, TraceAccessKind::Atomic})
      verbs = std::max(verbs, textWidth(accessVerb(kind)));
    program = access + verbs + kSpace;
    place = program + kSpace +
            std::max(textWidth("program"),
                     textWidth(programText(model, model.launch().programCount() - 1)));
    placeEnd = before = after = right;
    if (model.values().empty())
      return;
    placeEnd = before = std::max(from + width * 0.64F, place + textWidth("line and op") + 8);
    after = (before + right) / 2;
    hasSecondLine = after - before < textWidth("-0.12345678") + 8;
    if (hasSecondLine) {
      placeEnd = right;
      before = access;
      after = std::max(place, access + textWidth("-0.12345678") + 8);
    }
  }
  float lineHeight() const { return ImGui::GetFontSize() + 4; }
  float rowHeight() const {
    return ImGui::GetFontSize() + 6 + (hasSecondLine ? lineHeight() + 4 : 0);
  }
};

ImU32 colorOf(TraceAccessKind kind) {
  switch (kind) {
  case TraceAccessKind::Read:
    return theme::kRead;
  case TraceAccessKind::Write:
    return theme::kWrite;
  case TraceAccessKind::Atomic:
    return theme::kAtomic;
  }
  return theme::kText;
}

/// "add.py:14  tl.load into x", or as much of it as fits.
std::string placeText(const TraceModel &model, const HistoryEntry &entry, float width) {
  const TraceOp &op = model.launch().ops[static_cast<size_t>(entry.op)];
  const std::string line = "line " + std::to_string(op.line);
  const std::string file = op.source >= 0
                               ? fileName(model.sources()[static_cast<size_t>(op.source)].path) +
                                     ":" + std::to_string(op.line)
                               : line;
  const std::string name = "  " + op.name;
  const std::string variable = op.variable.empty() ? "" : " into " + op.variable;
  for (const std::string &text : {file + name + variable, line + name + variable, line + name})
    if (textWidth(text) <= width)
      return text;
  return line;
}

void drawEntry(const TraceModel &model, Selection &selection, const ElementHistory &history,
               size_t number, const Columns &columns, float height) {
  const HistoryEntry &entry = history.entries[number];
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::PushID(static_cast<int>(number));
  if (ImGui::InvisibleButton("entry", {width, height}))
    selectHistory(model, selection, static_cast<int64_t>(number));
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  const bool chosen = selection.historyEntry == static_cast<int64_t>(number);
  if (chosen || hovered)
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + height},
                                              chosen ? theme::kChosen : theme::kHovered, 3);
  const float y = at.y + 3;
  drawText({columns.left, y}, theme::kFaint, fullCountText(number + 1),
           columns.access - columns.left);
  drawText({columns.access, y}, colorOf(entry.kind), accessVerb(entry.kind));
  drawText({columns.program, y}, theme::kText, programText(model, entry.program),
           columns.place - columns.program - 8);
  const float room = columns.placeEnd - columns.place - 8;
  drawText({columns.place, y}, theme::kText, placeText(model, entry, room), room);
  const std::string before = historyValue(model, selection.tensor, entry, false);
  const std::string after = historyValue(model, selection.tensor, entry, true);
  if (before.empty())
    return;
  const float below = columns.hasSecondLine ? y + columns.lineHeight() : y;
  drawText({columns.before, below}, theme::kFaint, before, columns.after - columns.before - 8);
  drawText({columns.after, below}, before == after ? theme::kFaint : theme::kText, after,
           columns.right - columns.after);
}

void drawHead(const Columns &columns, bool hasValues) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  drawText({columns.left, at.y}, theme::kFaint, "access");
  drawText({columns.program, at.y}, theme::kFaint, "program");
  drawText({columns.place, at.y}, theme::kFaint, "line and op");
  const float below = columns.hasSecondLine ? at.y + columns.lineHeight() : at.y;
  if (hasValues) {
    drawText({columns.before, below}, theme::kFaint, "before");
    drawText({columns.after, below}, theme::kFaint, "after");
  }
  ImGui::Dummy({1, below - at.y + ImGui::GetFontSize() + 2});
}

/// What the panel cannot show, or nothing.
std::string omitted(const TraceModel &model, const ElementHistory &history) {
  std::string text;
  if (history.count > history.entries.size())
    text = fullCountText(history.count - history.entries.size()) + " more accesses are not listed";
  if (model.values().empty())
    return text;
  const bool isWhole = std::all_of(history.entries.begin(), history.entries.end(),
                                   [](const HistoryEntry &entry) { return entry.hasValues; });
  if (!isWhole)
    text += (text.empty() ? "" : "; ") +
            std::string("values were recorded of the first accesses of the launch only");
  return text;
}

void drawEntries(const TraceModel &model, Selection &selection, const ElementHistory &history) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool hasValues = !model.values().empty();
  const Columns columns(model, history, at.x, ImGui::GetContentRegionAvail().x);
  if (const std::string text = omitted(model, history); !text.empty()) {
    drawText(at, theme::kWarning, text, ImGui::GetContentRegionAvail().x);
    ImGui::Dummy({1, ImGui::GetFontSize() + 2});
  }
  drawHead(columns, hasValues);
  const float height = columns.rowHeight();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("entries", {0, 0}, false, ImGuiWindowFlags_NoNavInputs);
  if (selection.historyEntry >= 0 && selection.scrollsToChoice)
    ImGui::SetScrollY(std::max(0.0F, static_cast<float>(selection.historyEntry) * height -
                                         ImGui::GetWindowHeight() * 0.4F));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(history.entries.size()), height);
  while (clipper.Step())
    for (int number = clipper.DisplayStart; number < clipper.DisplayEnd; ++number)
      drawEntry(model, selection, history, static_cast<size_t>(number), columns, height);
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

} // namespace

void drawHistoryPanel(const TraceModel &model, Selection &selection) {
  const std::optional<int64_t> slot =
      selection.cell ? slotAt(model, selection, *selection.cell) : std::nullopt;
  std::string summary;
  const ElementHistory *history = nullptr;
  if (slot) {
    history = &model.history(selection.tensor, *slot);
    summary = model.launch().arguments[static_cast<size_t>(selection.tensor)].name +
              indexText(model.layout(selection.tensor).indexOf(*slot)) + "   " +
              (history->count == 1 ? "1 access" : fullCountText(history->count) + " accesses");
  }
  const PanelFrame frame(PanelKind::History, selection, summary);
  if (history == nullptr)
    drawEmpty("choose a cell of the heat map: its accesses are listed here, in their order");
  else if (history->entries.empty())
    drawEmpty("no access touched this element");
  else
    drawEntries(model, selection, *history);
}

} // namespace blockscope::viz
