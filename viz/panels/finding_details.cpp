// Details of a finding, row by row.
#include "viz/panels/finding_details.h"

#include "viz/model/finding_story.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace blockscope::viz {
namespace {

constexpr float kGap = 10;

float lineHeight() { return ImGui::GetFontSize() + 3; }

/// A text of any length from the cursor on.
void drawWrapped(float indent, ImU32 color, const std::string &text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float wrap = std::max(40.0F, ImGui::GetContentRegionAvail().x - indent - 8);
  const float height = drawLines({at.x + indent, at.y}, color, wrappedLines(text, wrap), wrap);
  ImGui::Dummy({wrap, height + 3});
}

std::string_view codeOf(const TraceModel &model, const TracePlace &place) {
  if (place.source < 0)
    return {};
  const TraceSource &source = model.sources()[static_cast<size_t>(place.source)];
  std::string_view rest = source.text;
  for (int line = source.firstLine; line < place.line && !rest.empty(); ++line) {
    const size_t end = rest.find('\n');
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const size_t begin = rest.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

std::vector<std::string> factsOf(const TraceModel &model, const TracePlace &place) {
  std::vector<std::string> facts;
  const auto put = [&facts](const char *name, const std::string &value) {
    if (!value.empty())
      facts.push_back(name + value);
  };
  put("", place.access);
  put("", place.program >= 0 ? "program " + programText(model, place.program) : "");
  put("lane ", place.lane);
  put("iteration ", place.loop);
  put("value ", place.value);
  return facts;
}

/// File and line, or the line alone where there is no room for the file.
std::string where(const TraceModel &model, const TracePlace &place, float width) {
  if (place.source < 0)
    return "";
  const std::string line = std::to_string(place.line);
  const std::string whole =
      fileName(model.sources()[static_cast<size_t>(place.source)].path) + ":" + line;
  return textWidth(whole) <= width ? whole : "line " + line;
}

constexpr size_t kMostCodeLines = 3;

/// A place as a block of lines that can be clicked; facts below one another, or in one line.
/// Returns its height.
float drawPlace(const TraceModel &model, Selection &selection, int number, ImVec2 at, float width,
                bool isTall) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  const TracePlace &place = finding.places[static_cast<size_t>(number)];
  const float room = width - 12;
  std::vector<std::string> code =
      wrappedLines(std::string(codeOf(model, place)), room, theme::monoFont());
  if (code.size() > kMostCodeLines) {
    code.resize(kMostCodeLines);
    code.back() += "\u2026";
  }
  std::vector<std::string> facts;
  for (const std::string &fact : factsOf(model, place))
    for (const std::string &line : wrappedLines(fact, room))
      facts.push_back(line);
  if (!isTall)
    facts = packedLines(facts, room);
  const float height = (1 + static_cast<float>(code.size() + facts.size())) * lineHeight() + 6;
  ImGui::SetCursorScreenPos(at);
  ImGui::PushID(number);
  if (ImGui::InvisibleButton("place", {width, height}))
    selectPlace(model, selection, number);
  const bool isHovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const ImU32 color = placeColor(finding, place);
  if (isHovered || selection.place == number)
    draw->AddRectFilled(at, {at.x + width, at.y + height},
                        selection.place == number ? theme::kChosen : theme::kHovered, 3);
  draw->AddRectFilled(at, {at.x + 3, at.y + height - 3}, color, 1);
  const float x = at.x + 9;
  float y = at.y + 1;
  const std::string label(roleLabel(finding, place));
  const float labelWidth = textWidth(label, theme::boldFont());
  drawText({x, y}, color, label, room, theme::boldFont());
  const float rest = std::max(10.0F, room - labelWidth - kGap);
  drawText({x + labelWidth + kGap, y}, theme::kFaint, where(model, place, rest), rest);
  y += lineHeight();
  for (const std::string &line : code) {
    drawText({x, y}, theme::kText, line, room, theme::monoFont());
    y += lineHeight();
  }
  for (const std::string &fact : facts) {
    drawText({x, y}, theme::kFaint, fact, room);
    y += lineHeight();
  }
  return height;
}

constexpr float kLeastColumn = 190; ///< a narrower one cuts what it tells

/// The two sides of a race beside one another; in a narrow panel below one another.
void drawSides(const TraceModel &model, Selection &selection, int other, float indent) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = (ImGui::GetContentRegionAvail().x - indent - kGap - 8) / 2;
  float height = 0;
  if (width < kLeastColumn) {
    for (const int number : {0, other})
      height += drawPlace(model, selection, number, {at.x + indent, at.y + height},
                          2 * width + kGap, false);
  } else {
    const float left = drawPlace(model, selection, 0, {at.x + indent, at.y}, width, true);
    const float right =
        drawPlace(model, selection, other, {at.x + indent + width + kGap, at.y}, width, true);
    height = std::max(left, right);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, height});
}

void drawPlaces(const TraceModel &model, Selection &selection, float indent) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  const bool isPair = hasSides(finding);
  for (size_t number = 0; number < finding.places.size(); ++number) {
    const TracePlace &place = finding.places[number];
    if (isPair && number == 0)
      continue; // drawn with its other side
    if (place.role == SiteRole::OtherSide) {
      drawSides(model, selection, static_cast<int>(number), indent);
      continue;
    }
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x - indent - 8;
    const float height =
        drawPlace(model, selection, static_cast<int>(number), {at.x + indent, at.y}, width, false);
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({width, height});
  }
}

/// Lines that can be clicked: a text and, below it, a faint one.
bool drawChoice(int number, float indent, const std::string &text, const std::string &below,
                bool isChosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - indent - 8;
  const std::vector<std::string> lines = wrappedLines(text, width - 12);
  const std::vector<std::string> more = wrappedLines(below, width - 12);
  const float height = static_cast<float>(lines.size() + more.size()) * lineHeight() + 3;
  ImGui::SetCursorScreenPos({at.x + indent, at.y});
  ImGui::PushID(number);
  const bool isPressed = ImGui::InvisibleButton("choice", {width, height});
  const bool isHovered = ImGui::IsItemHovered();
  ImGui::PopID();
  if (isHovered || isChosen)
    ImGui::GetWindowDrawList()->AddRectFilled({at.x + indent, at.y},
                                              {at.x + indent + width, at.y + height},
                                              isChosen ? theme::kChosen : theme::kHovered, 3);
  float y = at.y + 1;
  for (const auto &[part, color] : {std::pair(&lines, theme::kText), {&more, theme::kFaint}})
    for (const std::string &line : *part) {
      drawText({at.x + indent + 9, y}, color, line, width - 12);
      y += lineHeight();
    }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, height});
  return isPressed;
}

/// Who waits for whom. A program that has what another one waits for is often the next one.
void drawWaiting(const TraceModel &model, Selection &selection, float indent) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  int number = 1000;
  for (const TraceWait &each : finding.waits) {
    if (!drawChoice(++number, indent,
                    "program " + programText(model, each.program) + "  waits " + each.waits,
                    each.holderText, selection.program == each.program))
      continue;
    const std::optional<LastElement> element = lastElementOf(model, each.program);
    if (element)
      selectTensor(model, selection, element->argument);
    selectProgram(model, selection, each.program);
    if (element && selection.tensor == element->argument)
      if (const auto cell = model.plane(element->argument, selection.slice).cellOf(element->slot))
        selectCell(model, selection, *cell);
  }
}

void drawValues(const TraceFinding &finding, float indent) {
  std::string text;
  for (const auto &[name, value] : finding.values)
    text += (text.empty() ? "" : "     ") + name + " = " + value;
  if (!text.empty())
    drawWrapped(indent, theme::kText, text);
}

void drawElements(const TraceModel &model, Selection &selection, float indent) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  std::set<int> arguments;
  for (const TraceElements &run : finding.elements)
    arguments.insert(run.argument);
  int number = 2000;
  for (const int argument : arguments) {
    const auto count = static_cast<uint64_t>(markedElements(finding, argument));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const std::string text = plural(count, "element") + " of " +
                             model.launch().arguments[static_cast<size_t>(argument)].name + ": " +
                             std::string(markLabel(markOf(finding.code)));
    if (drawChoice(++number, indent + 20, text, "", false))
      selectTensor(model, selection, argument);
    if (selection.pictures)
      ImGui::GetWindowDrawList()->AddImage(
          selection.pictures->mark(markOf(finding.code)), {at.x + indent + 3, at.y + 1},
          {at.x + indent + 3 + Pictures::kMarkSize, at.y + 1 + Pictures::kMarkSize});
  }
}

void drawShares(const TraceModel &model, Selection &selection, float indent) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  int number = 3000;
  for (const TraceShare &share : finding.lineShares) {
    const std::string file =
        share.source < 0 ? ""
                         : fileName(model.sources()[static_cast<size_t>(share.source)].path) + ":" +
                               std::to_string(share.line);
    if (drawChoice(++number, indent, shareText(share.permille) + "  " + file + "  " + share.what,
                   "", selection.source == share.source && selection.line == share.line) &&
        share.source >= 0)
      selectLine(model, selection, share.source, share.line);
  }
}

} // namespace

ImU32 placeColor(const TraceFinding &finding, const TracePlace &place) {
  if (place.role == SiteRole::OtherSide)
    return kSideBColor;
  if (&place != finding.places.data())
    return theme::kAccent;
  return hasSides(finding) ? kSideAColor : theme::severityColor(finding.severity);
}

std::string placeFacts(const TraceModel &model, const TracePlace &place) {
  std::string text;
  for (const std::string &fact : factsOf(model, place))
    text += (text.empty() ? "" : "   ") + fact;
  return text;
}

void drawFindingDetails(const TraceModel &model, Selection &selection, float indent) {
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  ImGui::Dummy({1, 2});
  for (const std::string &sentence : notShown(model, finding))
    drawWrapped(indent, theme::kWarning, sentence);
  drawValues(finding, indent);
  drawElements(model, selection, indent);
  drawWaiting(model, selection, indent);
  drawShares(model, selection, indent);
  drawPlaces(model, selection, indent);
  if (!finding.hint.empty())
    drawWrapped(indent, theme::kNote, "hint: " + finding.hint);
  ImGui::Dummy({1, 6});
}

} // namespace blockscope::viz
