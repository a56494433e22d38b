// The source panel. A finding stands in a row of its own below its line.
#include "viz/panels/source_panel.h"

#include "viz/model/finding_story.h"
#include "viz/model/gpu_view.h"
#include "viz/panels/code_lines.h"
#include "viz/panels/finding_details.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace blockscope::viz {
namespace {

constexpr float kCountWidth = 58;
constexpr float kShareBar = 72;
constexpr float kPartWidth = 48;

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
  float shares; ///< right end; only where a finding has shares of lines
  float bytes;  ///< right end; only where the roofline is open
  float flops;  ///< right end
  float reads;  ///< right end
  float writes; ///< right end
};

float rowHeight() { return theme::monoFont()->FontSize + 5; }

/// One line, laid out: its counts stand right of its first row, the others have the whole width.
struct SourceLine {
  std::string bytes; ///< share of the launch's, where the roofline is open
  std::string flops;
  std::string share; ///< of the error of an output
  int32_t permille = 0;
  std::string reads;
  std::string writes;
  CodeLine code;
  float height;

  SourceLine(const AccessCounts &counts, int32_t errorShare, std::string_view text,
             const Columns &columns, char &inString, std::pair<std::string, std::string> work)
      : bytes(std::move(work.first)), flops(std::move(work.second)),
        share(errorShare > 0 ? shareText(errorShare) : ""), permille(errorShare),
        reads(counts.loads + counts.atomics > 0 ? countText(counts.loads + counts.atomics) : ""),
        writes(counts.stores + counts.atomics > 0 ? countText(counts.stores + counts.atomics)
                                                  : "") {
    const float right = !share.empty()    ? columns.shares - kShareBar - 8
                        : !flops.empty()  ? columns.flops - textWidth(flops) - 8
                        : !bytes.empty()  ? columns.bytes - textWidth(bytes) - 8
                        : !reads.empty()  ? columns.reads - textWidth(reads) - 8
                        : !writes.empty() ? columns.writes - textWidth(writes) - 8
                                          : columns.writes;
    const float character = theme::monoFont()->GetCharAdvance('0');
    const auto charactersTo = [&](float end) {
      return static_cast<int>((end - columns.text) / character);
    };
    code = layOutCode(text, charactersTo(right), charactersTo(columns.writes), inString);
    height = static_cast<float>(code.rows) * rowHeight();
  }
};

void drawCode(const CodeLine &code, ImVec2 at) {
  const float character = theme::monoFont()->GetCharAdvance('0');
  for (const CodePiece &piece : code.pieces)
    drawText({at.x + character * static_cast<float>(piece.column),
              at.y + rowHeight() * static_cast<float>(piece.row)},
             piece.color, std::string(piece.text), 1e9F, theme::monoFont());
}

/// Layout of the row of a finding below its line.
struct FindingRow {
  std::string count;
  std::vector<std::string> lines;
  float height;
  FindingRow(const TraceFinding &finding, const Columns &columns)
      : count(finding.count > 1 ? countText(finding.count) + "x" : ""),
        lines(wrappedLines(std::string(codeText(finding.code)) + ": " + finding.message,
                           std::max(60.0F, columns.writes - columns.text - 24 - textWidth(count)))),
        height(static_cast<float>(lines.size()) * ImGui::GetFontSize() + 8) {}
};

void drawFindingRow(const TraceModel &model, Selection &selection, size_t number,
                    const Columns &columns) {
  const TraceFinding &finding = model.launch().findings[number];
  const FindingRow row(finding, columns);
  const ImU32 color = theme::severityColor(finding.severity);
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
  const ImU32 ink = chosen ? theme::kText : color; // on more of its own colour that is too dim
  drawTextRight(columns.writes - 4, at.y + 3, ink, row.count);
  drawLines({columns.text + 6, at.y + 3}, ink, row.lines);
  ImGui::SetCursorScreenPos({at.x, at.y + row.height});
}

/// A place of the chosen finding that is in this line, but for the finding's own, which has a row.
bool isShownAt(const Selection &selection, const TraceFinding &finding, const TracePlace &place,
               int line) {
  return place.source == selection.source && place.line == line &&
         (&place != finding.places.data() || hasSides(finding));
}

float placeRowHeight() { return ImGui::GetFontSize() + 6; }

float placeRowsHeight(const TraceModel &model, const Selection &selection, int line) {
  float height = 0;
  if (selection.finding >= 0) {
    const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
    for (const TracePlace &place : finding.places)
      height += isShownAt(selection, finding, place, line) ? placeRowHeight() : 0;
  }
  return height;
}

void drawPlaceRows(const TraceModel &model, Selection &selection, int line,
                   const Columns &columns) {
  if (selection.finding < 0)
    return;
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  for (size_t number = 0; number < finding.places.size(); ++number) {
    const TracePlace &place = finding.places[number];
    if (!isShownAt(selection, finding, place, line))
      continue;
    const ImU32 color = placeColor(finding, place);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 low = {columns.text - 4, at.y};
    const ImVec2 high = {columns.writes + 4, at.y + placeRowHeight() - 2};
    ImGui::SetCursorScreenPos(low);
    ImGui::PushID(static_cast<int>(10'000 + number));
    if (ImGui::InvisibleButton("place", {high.x - low.x, high.y - low.y}))
      selectPlace(model, selection, static_cast<int>(number));
    const bool isHovered = ImGui::IsItemHovered();
    ImGui::PopID();
    ImDrawList *draw = ImGui::GetWindowDrawList();
    const bool isChosen = selection.place == static_cast<int>(number);
    draw->AddRectFilled(
        low, high, (color & 0x00ffffffU) | (isChosen || isHovered ? 0x48000000U : 0x1c000000U), 3);
    draw->AddRectFilled(low, {low.x + 3, high.y}, color, 2);
    const std::string label(roleLabel(finding, place));
    drawText({low.x + 10, low.y + 1}, color, label, high.x - low.x - 14, theme::boldFont());
    const float left = low.x + 10 + textWidth(label, theme::boldFont()) + 12;
    if (left < high.x - 30)
      drawText({left, low.y + 1}, theme::kText,
               wholeParts(placeFacts(model, place), high.x - left - 4), high.x - left - 4);
    ImGui::SetCursorScreenPos({at.x, at.y + placeRowHeight()});
  }
}

void drawLine(const TraceModel &model, Selection &selection, int line, const SourceLine &source,
              const std::vector<size_t> &findings, const Columns &columns) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool chosen = selection.line == line;
  ImGui::PushID(line);
  if (ImGui::InvisibleButton("line", {columns.writes - columns.left + 4, source.height}))
    selectLine(model, selection, selection.source, line);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (chosen || hovered)
    draw->AddRectFilled({at.x, at.y}, {columns.writes + 4, at.y + source.height},
                        chosen ? theme::kChosen : theme::kHovered, 3);
  if (!findings.empty())
    draw->AddCircleFilled({columns.left + 5, at.y + rowHeight() / 2}, 4,
                          theme::severityColor(model.launch().findings[findings[0]].severity));
  drawTextRight(columns.number, at.y + 2, chosen ? theme::kText : theme::kFaint,
                std::to_string(line), theme::monoFont());
  drawCode(source.code, {columns.text, at.y + 2});
  if (source.permille > 0) {
    const float width = kShareBar * static_cast<float>(source.permille) / 1000;
    draw->AddRectFilled({columns.shares - width, at.y + 1},
                        {columns.shares + 2, at.y + rowHeight() - 1}, theme::kShareBar, 2);
    drawTextRight(columns.shares, at.y + 1, theme::kShare, source.share);
  }
  drawTextRight(columns.bytes, at.y + 1, theme::kText, source.bytes);
  drawTextRight(columns.flops, at.y + 1, theme::kText, source.flops);
  drawTextRight(columns.reads, at.y + 1, theme::kRead, source.reads);
  drawTextRight(columns.writes, at.y + 1, theme::kWrite, source.writes);
  ImGui::SetCursorScreenPos({at.x, at.y + source.height});
  for (const size_t finding : findings)
    drawFindingRow(model, selection, finding, columns);
  drawPlaceRows(model, selection, line, columns);
}

/// What a line brings of the error that a finding is about, in thousandths.
int32_t shareOf(const TraceFinding *finding, int source, int line) {
  int32_t permille = 0;
  if (finding != nullptr)
    for (const TraceShare &share : finding->lineShares)
      permille += share.source == source && share.line == line ? share.permille : 0;
  return std::min(permille, 1000);
}

/// Whether the parts of lines in bytes and flops are shown.
bool showsWork(const TraceModel &model, const Selection &selection) {
  return selection.drawer == PanelKind::Roofline && model.launch().gpu.isThere() &&
         findingWithShares(model, selection.finding) == nullptr;
}

/// "12%", of bytes and of flops; nothing where a line has none.
std::pair<std::string, std::string> workOf(const TraceModel &model, int source, int line) {
  const Roofline &roofline = model.roofline();
  const LineWork work = roofline.ofLine(source, line);
  const auto part = [](int64_t value, int64_t whole) -> std::string {
    if (value <= 0 || whole <= 0)
      return "";
    const double percent = 100 * static_cast<double>(value) / static_cast<double>(whole);
    return percent < 1 ? "<1%" : std::to_string(std::lround(percent)) + "%";
  };
  return {part(work.bytes, roofline.bytesAsked), part(work.flops, roofline.flops)};
}

/// The line to begin with: above the first op, so that the kernel is in sight.
int firstLineOfInterest(const TraceModel &model, int source) {
  int first = 0;
  for (const TraceOp &op : model.launch().ops)
    if (op.source == source && op.line > 0 && (first == 0 || op.line < first))
      first = op.line;
  return first;
}

/// The lines in sight; the others only take their room.
void drawSource(const TraceModel &model, Selection &selection, const TraceSource &source,
                const std::vector<std::string_view> &lines, const Columns &columns) {
  const float top = ImGui::GetCursorPosY();
  const bool appears = ImGui::IsWindowAppearing() && selection.line == 0;
  const int first = firstLineOfInterest(model, selection.source);
  const TraceFinding *shares = findingWithShares(model, selection.finding);
  const bool hasWork = showsWork(model, selection);
  char inString = 0;
  for (size_t index = 0; index < lines.size(); ++index) {
    const int line = source.firstLine + static_cast<int>(index);
    const SourceLine laidOut(
        model.lineCounts(selection.source, line), shareOf(shares, selection.source, line),
        lines[index], columns, inString,
        hasWork ? workOf(model, selection.source, line) : std::pair<std::string, std::string>());
    const std::vector<size_t> &findings = model.findingsOfLine(selection.source, line);
    float height = laidOut.height;
    for (const size_t finding : findings)
      height += FindingRow(model.launch().findings[finding], columns).height;
    height += placeRowsHeight(model, selection, line);
    const float y = ImGui::GetCursorScreenPos().y;
    const float below = ImGui::GetCursorPosY() - top;
    if (appears && line == first && below > ImGui::GetWindowHeight() * 0.7F)
      ImGui::SetScrollY(std::max(0.0F, below - 8 * rowHeight()));
    const float row = ImGui::GetCursorPosY();
    if (selection.line == line && selection.scrollsToChoice)
      scrollToRow(row, height);
    const float listTop = ImGui::GetWindowPos().y;
    if (y + height < listTop || y > listTop + ImGui::GetWindowHeight())
      ImGui::Dummy({1, height});
    else
      drawLine(model, selection, line, laidOut, findings, columns);
  }
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
  columns.shares = columns.reads - kCountWidth;
  columns.bytes = columns.reads - kCountWidth;
  columns.flops = columns.bytes - kPartWidth;
  if (findingWithShares(model, selection.finding) != nullptr)
    drawTextRight(columns.shares, head.y, theme::kShare, "error");
  if (showsWork(model, selection)) {
    drawTextRight(columns.bytes, head.y, theme::kText, "bytes");
    drawTextRight(columns.flops, head.y, theme::kText, "flops");
  }
  drawTextRight(columns.reads, head.y, theme::kRead, "read");
  drawTextRight(columns.writes, head.y, theme::kWrite, "written");
  ImGui::SetCursorScreenPos({head.x, head.y + ImGui::GetFontSize() + 4});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("lines", {0, 0}, false, ImGuiWindowFlags_NoNavInputs);
  drawSource(model, selection, source, lines, columns);
  ImGui::EndChild();
  ImGui::PopStyleVar();
}

} // namespace blockscope::viz
