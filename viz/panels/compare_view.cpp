// Layout of a comparison: A and B above, the difference and what is to be said of it below.
#include "viz/panels/compare_view.h"

#include "viz/panels/difference_plot.h"
#include "viz/panels/element_text.h"
#include "viz/panels/header.h"
#include "viz/panels/heatmap_panel.h"
#include "viz/panels/help_overlay.h"
#include "viz/panels/keyboard.h"
#include "viz/panels/layout.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <cmath>

namespace blockscope::viz {
namespace {

constexpr float kGap = 8;

const TensorPair &chosenTensor(const Comparison &comparison, const CompareView &view) {
  return comparison.tensors()[view.tensor];
}

std::string runText(const Comparison &comparison, Side side) {
  return comparison.name(side) + ", launch " + std::to_string(comparison.run(side).launchIndex());
}

void drawHeaderOf(const Comparison &comparison, CompareView &view, float height) {
  const float buttons = drawButtons(view.shared, height);
  const bool isLow = height < 60; // one line
  const float width = ImGui::GetIO().DisplaySize.x - buttons - 40;
  const std::string &kernel = comparison.run(Side::A).launch().kernel;
  drawText({16, isLow ? 8.0F : 10.0F}, theme::kText, kernel, width, theme::titleFont());
  float left = 16 + std::min(width, textWidth(kernel, theme::titleFont())) + 18;
  if (comparison.launches().size() > 1 && left + 200 < width) {
    ImGui::SetCursorPos({left, 8});
    if (ImGui::ArrowButton("previous pair", ImGuiDir_Left))
      view.shared.wish = Wish::PreviousLaunch;
    ImGui::SameLine(0, 4);
    if (ImGui::ArrowButton("next pair", ImGuiDir_Right))
      view.shared.wish = Wish::NextLaunch;
    left += 2 * ImGui::GetFrameHeight() + 14;
  }
  drawText({left, 12}, theme::kFaint, "two runs", std::max(0.0F, width - left + 16));
  if (!isLow)
    drawText({16, 38}, theme::kFaint,
             "A: " + runText(comparison, Side::A) + "     B: " + runText(comparison, Side::B),
             width);
}

/// Tabs of the tensors; one that differs has a dot.
void drawTensors(const Comparison &comparison, CompareView &view) {
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const float height = ImGui::GetFrameHeight();
  const auto &tensors = comparison.tensors();
  float needed = 0;
  for (const TensorPair &pair : tensors)
    needed += textWidth(pair.name) + 34;
  if (needed > ImGui::GetContentRegionAvail().x * 0.6F) { // too many for tabs
    ImGui::SetNextItemWidth(std::min(260.0F, ImGui::GetContentRegionAvail().x * 0.4F));
    if (!ImGui::BeginCombo("##tensor", chosenTensor(comparison, view).name.c_str()))
      return;
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      ImGui::PushID(static_cast<int>(tensor));
      if (ImGui::Selectable(tensors[tensor].name.c_str(), tensor == view.tensor))
        chooseTensor(comparison, view, tensor);
      ImGui::PopID();
    }
    ImGui::EndCombo();
    return;
  }
  const ImVec2 start = ImGui::GetCursorScreenPos();
  ImVec2 at = start;
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const TensorPair &pair = tensors[tensor];
    const bool hasProblem = !pair.problem.empty();
    const float width = textWidth(pair.name) + 20 + (hasProblem ? 10 : 0);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(tensor));
    if (ImGui::InvisibleButton("tab", {width, height}))
      chooseTensor(comparison, view, tensor);
    const bool isChosen = tensor == view.tensor;
    if (isChosen || ImGui::IsItemHovered())
      draw->AddRectFilled(at, {at.x + width, at.y + height},
                          isChosen ? theme::kChosen : theme::kHovered, 4);
    ImGui::PopID();
    drawText({at.x + 10, at.y + 4}, isChosen ? theme::kText : theme::kFaint, pair.name);
    if (hasProblem)
      draw->AddCircleFilled({at.x + width - 9, at.y + height / 2}, 3.5F, theme::kWarning);
    at.x += width + 4;
  }
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy({at.x - start.x, height});
}

/// Returns the height that it took.
float drawControls(const Comparison &comparison, CompareView &view, float top) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetCursorPos({kGap, top});
  ImGui::BeginGroup();
  drawTensors(comparison, view);
  const auto goOn = [&screen](float gap, float width) {
    if (ImGui::GetItemRectMax().x + gap + width <= screen.x - kGap)
      ImGui::SameLine(0, gap);
  };
  if (roomOf(screen) == Room::One) {
    goOn(14, segmentedWidth({"Difference", "Runs"}));
    view.showsRuns = segmented("shown", {"Difference", "Runs"}, view.showsRuns ? 1 : 0) == 1;
  }
  goOn(14, segmentedWidth({"Reads", "Writes", "Both"}));
  view.shared.mode = static_cast<HeatMode>(
      segmented("mode", {"Reads", "Writes", "Both"}, static_cast<int>(view.shared.mode)));
  goOn(14, segmentedWidth({"Linear", "Log"}));
  view.shared.logScale = segmented("scale", {"Linear", "Log"}, view.shared.logScale ? 1 : 0) == 1;
  goOn(14, textWidth("Fit") + 2 * ImGui::GetStyle().FramePadding.x);
  if (ImGui::Button("Fit"))
    view.shared.isFitted = true;
  const Side side = sideWithTensor(comparison, view);
  const int64_t slices =
      comparison.run(side)
          .plane(chosenTensor(comparison, view).argument[static_cast<size_t>(side)], -1)
          .sliceCount();
  if (slices > 1) {
    const std::string label = view.shared.slice < 0 ? "all slices"
                                                    : "slice " + std::to_string(view.shared.slice) +
                                                          " of " + std::to_string(slices);
    goOn(14, 110 + textWidth(label) + 20);
    ImGui::SetNextItemWidth(110);
    int slice = static_cast<int>(view.shared.slice);
    if (ImGui::SliderInt("##slice", &slice, -1, static_cast<int>(slices) - 1, "",
                         ImGuiSliderFlags_NoInput)) {
      Selection selection = selectionOf(comparison, view, side);
      selectSlice(comparison.run(side), selection, slice);
      takeOver(selection, view);
    }
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(label.c_str());
  }
  ImGui::EndGroup();
  return ImGui::GetItemRectSize().y;
}

std::string elementName(const Comparison &comparison, const CompareView &view, Cell cell) {
  const Side side = sideWithTensor(comparison, view);
  const int argument = chosenTensor(comparison, view).argument[static_cast<size_t>(side)];
  const TraceModel &model = comparison.run(side);
  const Plane &plane = model.plane(argument, view.shared.slice);
  if (plane.contains(cell))
    return chosenTensor(comparison, view).name +
           indexText(model.layout(argument).indexOf(plane.slotOf(cell)));
  return chosenTensor(comparison, view).name + ", row " + std::to_string(cell.row) + ", column " +
         std::to_string(cell.column) + ", outside the tensor";
}

/// Name, what A and B did to the element, and the difference.
std::vector<std::string> elementLines(const Comparison &comparison, const CompareView &view,
                                      Cell cell) {
  std::vector<std::string> lines;
  if (const DifferenceMap *map = comparison.difference(view.tensor)) {
    const CountPair counts = map->at(view.shared.slice, cell);
    lines.push_back(elementName(comparison, view, cell));
    lines.push_back("A: " + countsText(counts.a));
    lines.push_back("B: " + countsText(counts.b));
    lines.push_back("A \u2212 B: " + differenceText(counts.difference(view.shared.mode)) +
                    (view.shared.mode == HeatMode::Reads    ? " reads"
                     : view.shared.mode == HeatMode::Writes ? " writes"
                                                            : " accesses"));
    return lines;
  }
  lines.push_back("row " + std::to_string(cell.row) + ", column " + std::to_string(cell.column));
  for (const Side side : kSides) { // a cell is not the same element in tensors of other shapes
    const Selection selection = selectionOf(comparison, view, side);
    const TraceModel &model = comparison.run(side);
    const std::optional<int64_t> slot =
        selection.tensor < 0 ? std::nullopt : slotAt(model, selection, cell);
    if (slot)
      lines.push_back(std::string(sideName(side)) + ": " + chosenTensor(comparison, view).name +
                      indexText(model.layout(selection.tensor).indexOf(*slot)) + " " +
                      countsText(model.storyOf(selection.tensor, *slot).counts));
  }
  return lines;
}

void drawTooltip(const Comparison &comparison, const CompareView &view, Cell cell) {
  for (const std::string &line : elementLines(comparison, view, cell))
    ImGui::TextUnformatted(line.c_str());
}

/// The rectangle of a plot in what is left of a panel: equal for panels of one size.
PlotArea plotArea(const Comparison &comparison, const CompareView &view) {
  float labels = 24;
  for (const Side side : kSides) {
    const Selection selection = selectionOf(comparison, view, side);
    if (selection.tensor >= 0)
      labels = std::max(
          labels, rowLabelWidth(comparison.run(side).plane(selection.tensor, selection.slice)));
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float left = std::min(room.x / 3, labels);
  PlotArea area;
  area.at = {std::floor(at.x + left), std::floor(at.y + 24)};
  area.size = {std::max(32.0F, std::floor(room.x - left - kColorBarWidth)),
               std::max(32.0F, std::floor(room.y - 24))};
  return area;
}

void fit(const Comparison &comparison, CompareView &view, const PlotArea &area) {
  view.shared.plotWidth = area.size.x;
  view.shared.plotHeight = area.size.y;
  if (view.shared.isFitted)
    view.shared.region = fitRegion(contentOf(comparison, view), area.size.x, area.size.y);
}

void drawRun(const Comparison &comparison, CompareView &view, Side side) {
  const auto index = static_cast<size_t>(side);
  const TraceModel &model = comparison.run(side);
  Selection selection = selectionOf(comparison, view, side);
  const AccessCounts *counts = selection.tensor < 0
                                   ? nullptr
                                   : &model.argumentCounts()[static_cast<size_t>(selection.tensor)];
  std::string summary;
  if (counts != nullptr)
    summary = (counts->outside > 0 ? countText(counts->outside) + " outside     " : "") + "read " +
              countText(counts->loads + counts->atomics) + "     written " +
              countText(counts->stores + counts->atomics);
  const PanelFrame frame(runText(comparison, side), sideName(side), summary);
  if (selection.tensor < 0)
    return drawEmpty(chosenTensor(comparison, view).problem);
  if (!view.pictures[index])
    view.pictures[index] = std::make_shared<Pictures>();
  selection.pictures = view.pictures[index];
  const PlotArea area = plotArea(comparison, view);
  fit(comparison, view, area);
  selection.region = view.shared.region;
  selection.isFitted = false;
  const Region region = selection.region;
  drawHeatPlot(model, selection, area, [&](Cell cell) { drawTooltip(comparison, view, cell); });
  if (selection.isFitted || !(selection.region == region) || selection.cell != view.shared.cell) {
    const bool stays = view.shared.isFitted && selection.region == region;
    selection.isFitted = selection.isFitted || stays;
    takeOver(selection, view);
  }
}

void drawDifferencePanel(const Comparison &comparison, CompareView &view) {
  const DifferenceMap *map = comparison.difference(view.tensor);
  const PanelFrame frame("Difference: A minus B", "", chosenTensor(comparison, view).name);
  if (map == nullptr)
    return drawEmpty(chosenTensor(comparison, view).problem);
  if (!view.pictures[2])
    view.pictures[2] = std::make_shared<Pictures>();
  const PlotArea area = plotArea(comparison, view);
  fit(comparison, view, area);
  drawDifferencePlot(*map, view, area, [&](Cell cell) { drawTooltip(comparison, view, cell); });
}

/// A paragraph.
void drawWrappedText(const std::string &text, ImU32 color) {
  const float wrap = ImGui::GetContentRegionAvail().x;
  const float height =
      drawLines(ImGui::GetCursorScreenPos(), color, wrappedLines(text, wrap), wrap);
  ImGui::Dummy({wrap, height});
}

/// "28 elements are accessed more often in A, 1 200 as often in both".
std::string totalsText(const DifferenceTotals &totals) {
  std::string text;
  const auto put = [&text](uint64_t count, const char *where) {
    if (count > 0)
      text += text.empty()
                  ? plural(count, "element") + (count == 1 ? " is" : " are") + " accessed " + where
                  : ", " + fullCountText(count) + " " + where;
  };
  put(totals.more, "more often in A");
  put(totals.fewer, "more often in B");
  put(totals.equal, "as often in both");
  return text.empty() ? "no element was accessed in either run" : text;
}

void drawFacts(const Comparison &comparison, CompareView &view) {
  const auto count = comparison.notes().size();
  const PanelFrame frame("What differs", "", count == 0 ? "all matches" : plural(count, "note"));
  if (view.shared.cell) {
    const std::vector<std::string> lines = elementLines(comparison, view, *view.shared.cell);
    for (size_t line = 0; line < lines.size(); ++line)
      drawWrappedText(lines[line], line == 0 ? theme::kAccent : theme::kText);
  } else {
    drawWrappedText("click a cell: what did each run do to it?", theme::kFaint);
  }
  ImGui::Spacing();
  for (size_t tensor = 0; tensor < comparison.tensors().size(); ++tensor)
    if (const DifferenceTotals *totals = comparison.totals(tensor, view.shared.mode))
      drawWrappedText(comparison.tensors()[tensor].name + ": " + totalsText(*totals) + ".",
                      tensor == view.tensor ? theme::kText : theme::kFaint);
  ImGui::Spacing();
  for (const std::string &note : comparison.notes())
    drawWrappedText(note, theme::kWarning);
  if (comparison.notes().empty())
    drawWrappedText("Launches, tensors, constants and findings match.", theme::kFaint);
}

void placePanel(const char *name, ImVec2 at, ImVec2 size, const std::function<void()> &draw) {
  ImGui::SetCursorPos({std::floor(at.x), std::floor(at.y)});
  ImGui::BeginChild(name, {std::floor(size.x), std::floor(size.y)}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse |
                        ImGuiWindowFlags_NoNavInputs);
  draw();
  ImGui::EndChild();
}

std::string choiceText(const Comparison &comparison, const CompareView &view) {
  const auto &launches = comparison.launches();
  const auto whole = std::count_if(launches.begin(), launches.end(),
                                   [](const LaunchPair &each) { return each.isWhole(); });
  std::string text = view.shared.program < 0 ? "all programs"
                                             : "program " + std::to_string(view.shared.program) +
                                                   " of both runs is lit";
  if (whole > 1)
    text += "   \u00b7   " + plural(static_cast<uint64_t>(whole), "pair") + " of launches";
  return text;
}

} // namespace

void drawComparison(const Comparison &comparison, CompareView &view) {
  handleKeys([&](Command command) { apply(command, comparison, view); });
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  beginScreen("##comparison");
  const float header = headerHeight(screen);
  drawHeaderOf(comparison, view, header);
  if (comparison.tensors().empty()) {
    ImGui::SetCursorPos({0, header});
    drawEmpty("the launches have no tensor, or none small enough to show");
  } else {
    const float top = header + drawControls(comparison, view, header) + kGap;
    const float width = (screen.x - 3 * kGap) / 2;
    const bool isOne = roomOf(screen) == Room::One;
    const float whole = screen.y - top - kStatusHeight - kGap;
    const float height = std::max(100.0F, isOne ? whole : (whole - kGap) / 2);
    const float right = 2 * kGap + width;
    const float below = isOne ? top : top + height + kGap;
    if (!isOne || view.showsRuns) {
      placePanel("a", {kGap, top}, {width, height}, [&] { drawRun(comparison, view, Side::A); });
      placePanel("b", {right, top}, {width, height}, [&] { drawRun(comparison, view, Side::B); });
    }
    if (!isOne || !view.showsRuns) {
      placePanel("difference", {kGap, below}, {width, height},
                 [&] { drawDifferencePanel(comparison, view); });
      placePanel("facts", {right, below}, {width, height}, [&] { drawFacts(comparison, view); });
    }
  }
  drawStatusLine(view.shared, choiceText(comparison, view),
                 "h  help     t  tensor     < >  launches     m  reads or writes     l  log     "
                 "v V  colours     0  fit",
                 screen.y - kStatusHeight, kStatusHeight);
  ImGui::End();
  if (view.shared.showsHelp)
    drawHelpOverlay(view.shared, compareHelpLines());
}

} // namespace blockscope::viz
