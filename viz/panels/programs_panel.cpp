// The program picker.
#include "viz/panels/programs_panel.h"

#include "viz/model/finding_story.h"
#include "viz/model/program_image.h"
#include "viz/panels/finding_details.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

std::string gridText(const TraceModel &model) {
  const auto &grid = model.launch().grid;
  return std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " +
         std::to_string(grid[2]);
}

/// "All", a step back, the slider, a step on; what is chosen stands below, so nothing covers it.
void drawSlider(const TraceModel &model, Selection &selection) {
  const int64_t last = model.launch().programCount() - 1;
  if (ImGui::Button("All"))
    selectProgram(model, selection, -1);
  ImGui::SameLine();
  const float arrow = ImGui::GetFrameHeight();
  if (ImGui::ArrowButton("previous", ImGuiDir_Left))
    apply(Command::PreviousProgram, model, selection);
  ImGui::SameLine(0, 4);
  ImGui::SetNextItemWidth(std::max(30.0F, ImGui::GetContentRegionAvail().x - arrow - 4));
  int64_t program = selection.program;
  const int64_t none = -1;
  if (ImGui::SliderScalar("##program", ImGuiDataType_S64, &program, &none, &last, "",
                          ImGuiSliderFlags_NoInput))
    selectProgram(model, selection, program);
  ImGui::SameLine(0, 4);
  if (ImGui::ArrowButton("next", ImGuiDir_Right))
    apply(Command::NextProgram, model, selection);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const std::string name = selection.program < 0
                               ? "all " + plural(static_cast<uint64_t>(last + 1), "program")
                               : "program " + programText(model, selection.program);
  drawText(at, theme::kText, name, width);
  const std::string number =
      selection.program < 0 ? "" : "number " + std::to_string(selection.program);
  if (textWidth(name) + textWidth(number) + 12 <= width)
    drawTextRight(at.x + width, at.y, theme::kFaint, number);
  ImGui::Dummy({width, ImGui::GetFontSize() - 2});
}

/// A program of the chosen finding.
struct ProgramMark {
  int64_t program;
  ImU32 color;
  const char *letter;
};

std::vector<ProgramMark> marksOf(const TraceModel &model, const Selection &selection) {
  std::vector<ProgramMark> marks;
  if (selection.finding < 0)
    return marks;
  const TraceFinding &finding = model.launch().findings[static_cast<size_t>(selection.finding)];
  for (const TraceWait &each : finding.waits)
    marks.push_back({each.program, theme::kWarning, "W"});
  if (!hasSides(finding))
    return marks;
  for (const SiteRole role : {SiteRole::Here, SiteRole::OtherSide})
    if (const TracePlace *place = placeWith(finding, role); place && place->program >= 0)
      marks.push_back(
          {place->program, placeColor(finding, *place), role == SiteRole::Here ? "A" : "B"});
  return marks;
}

/// What the letters in the grid are.
std::string marksLegend(const TraceModel &model, const Selection &selection) {
  const std::vector<ProgramMark> marks = marksOf(model, selection);
  return marks.empty()                              ? ""
         : std::string_view(marks[0].letter) == "W" ? "W: waits"
                                                    : "A, B: the two sides";
}

/// What the chosen program did, or what the colours mean.
void drawSummary(const TraceModel &model, const Selection &selection) {
  const float width = ImGui::GetContentRegionAvail().x;
  const auto line = [width](ImU32 color, const std::string &text) {
    drawText(ImGui::GetCursorScreenPos(), color, text, width);
    ImGui::Dummy({width, ImGui::GetFontSize() - 2});
  };
  uint64_t outside = 0;
  if (selection.program >= 0) {
    const ProgramCounts &counts = model.programCounts()[static_cast<size_t>(selection.program)];
    line(theme::kFaint, "accessed " + plural(counts.accesses, "element"));
    if (counts.outside > 0)
      line(theme::kError, fullCountText(counts.outside) + " outside a tensor");
  }
  if (const std::string marked = marksLegend(model, selection); !marked.empty()) {
    line(theme::kText, marked);
  } else if (selection.program < 0) {
    for (const ProgramCounts &counts : model.programCounts())
      outside += counts.outside > 0 ? 1 : 0;
    line(theme::kFaint, "brighter: more accesses");
    if (outside > 0)
      line(theme::kError, plural(outside, "program") + " left a tensor");
  }
  ImGui::Dummy({1, 1});
}

void drawGrid(const TraceModel &model, Selection &selection) {
  const ProgramGrid grid = gridOf(model);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  if (room.x < 20 || room.y < 20)
    return;
  const float cell = std::min(
      {room.x / static_cast<float>(grid.columns), room.y / static_cast<float>(grid.rows), 56.0F});
  ImVec2 size = {cell * static_cast<float>(grid.columns), cell * static_cast<float>(grid.rows)};
  if (cell >= 3)
    size = {std::floor(cell) * static_cast<float>(grid.columns),
            std::floor(cell) * static_cast<float>(grid.rows)};
  else if (size.y < 24 || size.x < 24) // very long and thin: stretched
    size = {std::max(size.x, std::min(room.x, 120.0F)), std::max(size.y, std::min(room.y, 60.0F))};
  size = {std::max(1.0F, std::floor(size.x)), std::max(1.0F, std::floor(size.y))};
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const ImVec2 at = {std::floor(start.x + (room.x - size.x) / 2), std::floor(start.y)};
  const int64_t layer = selection.program < 0 ? 0 : selection.program / grid.perLayer;
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->AddImage( // behind the last program the panel shines through

      selection.pictures->programs(model, {layer, theme::pixels(size.x), theme::pixels(size.y),
                                           &model, selection.look.countColors}),
      at, {at.x + size.x, at.y + size.y});
  const float cellX = size.x / static_cast<float>(grid.columns);
  const float cellY = size.y / static_cast<float>(grid.rows);
  const auto mark = [&](int64_t program, ImU32 color, const char *letter = nullptr) {
    const int64_t within = program % grid.perLayer;
    const int64_t row = within / grid.columns, column = within % grid.columns;
    ImVec2 low = {at.x + cellX * static_cast<float>(column),
                  at.y + cellY * static_cast<float>(row)};
    const ImVec2 high = {std::max(low.x + cellX, low.x + 5), std::max(low.y + cellY, low.y + 5)};
    draw->AddRect({low.x - 2, low.y - 2}, {high.x + 1, high.y + 1}, IM_COL32(0, 0, 0, 255), 0, 0,
                  1);
    draw->AddRect({low.x - 1, low.y - 1}, high, color, 0, 0, 2);
    if (letter == nullptr)
      return;
    if (cellX < 18 || cellY < 20) { // no room for the letter: its colour
      draw->AddRectFilled({low.x + 2, low.y + 2}, {high.x - 3, high.y - 3}, color);
      return;
    }
    const ImVec2 middle = {std::floor(low.x + cellX / 2), std::floor(low.y + cellY / 2)};
    draw->AddRectFilled({middle.x - 9, middle.y - 9}, {middle.x + 8, middle.y + 9},
                        IM_COL32(0, 0, 0, 255), 3);
    drawText({middle.x - textWidth(letter, theme::boldFont()) / 2, middle.y - 9}, color, letter,
             1e9F, theme::boldFont());
  };
  for (const ProgramMark &each : marksOf(model, selection))
    if (each.program / grid.perLayer == layer)
      mark(each.program, each.color, each.letter);
  if (selection.program >= 0)
    mark(selection.program, IM_COL32(255, 255, 255, 255));
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("grid", size);
  if (!ImGui::IsItemHovered() && !ImGui::IsItemActive())
    return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const int64_t program =
      grid.programAt(static_cast<int64_t>(std::floor((mouse.x - at.x) / cellX)),
                     static_cast<int64_t>(std::floor((mouse.y - at.y) / cellY)), layer);
  if (program < 0)
    return;
  mark(program, IM_COL32(255, 255, 255, 140));
  if (ImGui::IsItemActive())
    selectProgram(model, selection, program);
  const ProgramCounts &counts = model.programCounts()[static_cast<size_t>(program)];
  ImGui::SetTooltip("program %s\n%s accesses, %s outside", programText(model, program).c_str(),
                    fullCountText(counts.accesses).c_str(), fullCountText(counts.outside).c_str());
}

} // namespace

void drawProgramsPanel(const TraceModel &model, Selection &selection) {
  const PanelFrame frame(PanelKind::Programs, selection, gridText(model));
  drawSlider(model, selection);
  drawSummary(model, selection);
  if (model.launch().grid[2] > 1) {
    const int64_t perLayer = model.launch().grid[0] * model.launch().grid[1];
    int layer = static_cast<int>(selection.program < 0 ? 0 : selection.program / perLayer);
    const std::string label =
        "z " + std::to_string(layer) + " of " + std::to_string(model.launch().grid[2]);
    ImGui::SetNextItemWidth(
        std::max(40.0F, ImGui::GetContentRegionAvail().x - textWidth(label) - 10));
    const bool changed =
        ImGui::SliderInt("##layer", &layer, 0, static_cast<int>(model.launch().grid[2]) - 1, "",
                         ImGuiSliderFlags_NoInput);
    ImGui::SameLine();
    ImGui::TextUnformatted(label.c_str());
    if (changed)
      selectProgram(model, selection,
                    layer * perLayer + std::max<int64_t>(0, selection.program) % perLayer);
  }
  drawGrid(model, selection);
}

} // namespace blockscope::viz
