// Texts about an element.
#include "viz/panels/element_text.h"

#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

struct ElementText {
  std::string title; ///< "x_ptr[3, 17]"
  std::string place; ///< "byte 1268   outside the tensor"
  bool isOutside = false;
  std::string counts;
  std::string marks; ///< what findings say of it
  std::string programs;
  std::vector<std::string> lines;
};

std::string programsText(const TraceModel &model, const ElementStory &story, size_t most) {
  if (story.programCount == 0)
    return "";
  std::string text = plural(story.programCount, "program") + ": ";
  const size_t shown = std::min(most, story.programs.size());
  for (size_t index = 0; index < shown; ++index)
    text += (index > 0 ? " " : "") + programText(model, story.programs[index]);
  if (story.programCount > shown)
    text += " and " + fullCountText(story.programCount - shown) + " more";
  return text;
}

/// "has no value (finding 1)".
std::string marksText(const TraceModel &model, const Selection &selection, Cell cell) {
  std::string text;
  if (!selection.showsMarks)
    return text;
  std::string sides; // of a race, where they do not meet
  for (const MarkSegment &each : model.marks(selection.tensor, selection.slice, selection.marks()))
    if (each.first.row == cell.row && each.first.column <= cell.column &&
        cell.column < each.first.column + each.columns) {
      const std::string said = std::string(markMeaning(each.kind)) + " (finding " +
                               std::to_string(each.finding + 1) + ")";
      std::string &to = each.kind == MarkKind::SideA || each.kind == MarkKind::SideB ? sides : text;
      if (to.find(said) == std::string::npos)
        to += (to.empty() ? "" : ", ") + said;
    }
  return text.empty() ? sides : text;
}

ElementText describe(const TraceModel &model, const Selection &selection, Cell cell, int64_t slot,
                     size_t mostPrograms) {
  const TensorLayout &layout = model.layout(selection.tensor);
  const ElementStory &story = model.storyOf(selection.tensor, slot);
  ElementText text;
  text.isOutside = !layout.isElement(slot);
  text.title = model.launch().arguments[static_cast<size_t>(selection.tensor)].name +
               indexText(layout.indexOf(slot));
  text.place = "byte " + std::to_string(layout.offsetBytesOf(slot));
  if (text.isOutside)
    text.place += "   outside the tensor";
  text.counts = countsText(story.counts);
  text.marks = marksText(model, selection, cell);
  text.programs = programsText(model, story, mostPrograms);
  for (const auto &[op, count] : story.ops) {
    const TraceOp &each = model.launch().ops[static_cast<size_t>(op)];
    text.lines.push_back((each.source >= 0
                              ? fileName(model.sources()[static_cast<size_t>(each.source)].path) +
                                    ":" + std::to_string(each.line) + "  "
                              : "") +
                         each.name + (each.variable.empty() ? "" : " into " + each.variable) +
                         "  " + fullCountText(count) + (count == 1 ? " time" : " times"));
  }
  return text;
}

} // namespace

std::string countsText(const ElementCounts &counts) {
  std::string text;
  const auto put = [&text](uint32_t count, const char *verb) {
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::string(verb) + " " + fullCountText(count) +
              (count == 1 ? " time" : " times");
  };
  put(counts.loads, "read");
  put(counts.stores, "written");
  put(counts.atomics, "updated atomically");
  return text.empty() ? "never touched" : text;
}

void drawElementTooltip(const TraceModel &model, const Selection &selection, Cell cell) {
  const std::optional<int64_t> slot = slotAt(model, selection, cell);
  if (!slot)
    return;
  const ElementText text = describe(model, selection, cell, *slot, 4);
  ImGui::PushStyleColor(ImGuiCol_Text, text.isOutside ? theme::kError : theme::kText);
  ImGui::TextUnformatted((text.title + "   " + text.place).c_str());
  ImGui::PopStyleColor();
  if (!text.marks.empty())
    ImGui::TextUnformatted(text.marks.c_str());
  ImGui::TextUnformatted(text.counts.c_str());
  if (!text.programs.empty())
    ImGui::TextUnformatted(text.programs.c_str());
  for (size_t index = 0; index < std::min<size_t>(6, text.lines.size()); ++index)
    ImGui::TextDisabled("%s", text.lines[index].c_str());
}

void drawElementStrip(const TraceModel &model, const Selection &selection, ImVec2 at, ImVec2 size) {
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y},
                                            IM_COL32(34, 38, 47, 255), 4);
  const float x = at.x + 12;
  const float width = size.x - 24;
  const float step = ImGui::GetFontSize() + 5;
  const float y = at.y + (size.y - 3 * step) / 2;
  const std::optional<int64_t> slot =
      selection.cell ? slotAt(model, selection, *selection.cell) : std::nullopt;
  if (!slot) {
    const auto fitting = [width](const char *text, const char *shorter) {
      return textWidth(text) <= width ? text : shorter;
    };
    drawText({x, y + step / 2}, theme::kFaint,
             selection.cell
                 ? fitting("nothing was accessed here, outside the tensor", "nothing accessed")
                 : fitting("click a cell, or move with the arrow keys, to see who touched it",
                           "click a cell: who touched it?"),
             width);
    drawText({x, y + step * 3 / 2}, theme::kFaint,
             selection.filter().isAny()
                 ? fitting("choose a program or an op to light what it touched",
                           "choose a program or an op")
                 : "lit: what the chosen " +
                       std::string(selection.program < 0 ? "op"
                                   : selection.op < 0    ? "program"
                                                         : "op of the chosen program") +
                       " touched",
             width);
    return;
  }
  size_t most = 8; // programs
  ElementText text = describe(model, selection, *selection.cell, *slot, most);
  const ElementStory &story = model.storyOf(selection.tensor, *slot);
  while (most > 1 && textWidth(text.programs) > width)
    text.programs = programsText(model, story, --most);
  const std::string marks = text.marks.empty() ? "" : "   " + text.marks;
  std::string first;
  for (const std::string &rest :
       {"   " + text.place + marks + "   " + text.counts,
        marks + "   " + text.counts, // the index tells the place, too
        marks.empty() ? "   " + text.counts : marks, "   " + text.counts}) {
    first = text.title + rest;
    if (textWidth(first) <= width)
      break;
  }
  drawText({x, y}, text.isOutside ? theme::kError : theme::kText, first, width);
  drawText({x, y + step}, theme::kFaint, text.programs, width);
  std::string lines;
  for (const std::string &line : text.lines)
    lines += (lines.empty() ? "" : "     ") + line;
  drawText({x, y + 2 * step}, theme::kFaint, wholeParts(lines, width), width);
}

} // namespace blockscope::viz
