// The heat map panel.
#include "viz/panels/heatmap_panel.h"

#include "viz/panels/element_text.h"
#include "viz/panels/heatmap_axes.h"
#include "viz/panels/pictures.h"
#include "viz/panels/theme.h"
#include "viz/panels/timeline.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace blockscope::viz {
namespace {

constexpr float kInspectorHeight = 74;
constexpr int kMaxCellNumbers = 1500;
constexpr float kRoomForButtons = 480;
constexpr float kSliceSlider = 110;
constexpr float kLow = 300;            ///< a panel in which each line of controls counts
constexpr float kLeastAboveStrip = 90; ///< height of a plot that has the strip of the element below
constexpr float kLeastAboveTime = 70;

std::string shapeText(const TraceArgument &argument) {
  std::string text = argument.dtype + " " + indexText(argument.shape);
  int64_t dense = 1;
  bool isDense = true;
  for (size_t dim = argument.shape.size(); dim-- > 0; dense *= argument.shape[dim])
    isDense = isDense && (argument.shape[dim] == 1 || argument.strides[dim] == dense);
  return isDense ? text : text + " strides " + indexText(argument.strides);
}

void drawTensorChoice(const TraceModel &model, Selection &selection) {
  float needed = 0;
  for (const int tensor : model.tensors())
    needed += textWidth(model.launch().arguments[static_cast<size_t>(tensor)].name) + 26;
  const float room = ImGui::GetContentRegionAvail().x;
  if (needed > room) { // too many for tabs
    ImGui::SetNextItemWidth(std::min(320.0F, room));
    const std::string &chosen =
        model.launch().arguments[static_cast<size_t>(selection.tensor)].name;
    if (ImGui::BeginCombo("##tensor", chosen.c_str())) {
      for (const int tensor : model.tensors()) {
        ImGui::PushID(tensor);
        if (ImGui::Selectable(model.launch().arguments[static_cast<size_t>(tensor)].name.c_str(),
                              tensor == selection.tensor))
          selectTensor(model, selection, tensor);
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    return;
  }
  ImDrawList *draw = ImGui::GetWindowDrawList();
  const float height = ImGui::GetFrameHeight();
  ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 start = at;
  for (const int tensor : model.tensors()) {
    const TraceArgument &argument = model.launch().arguments[static_cast<size_t>(tensor)];
    const bool isOutside = model.argumentCounts()[static_cast<size_t>(tensor)].outside > 0;
    const float width = textWidth(argument.name) + 20 + (isOutside ? 10 : 0);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(tensor);
    if (ImGui::InvisibleButton("tab", {width, height}))
      selectTensor(model, selection, tensor);
    const bool chosen = tensor == selection.tensor;
    if (chosen || ImGui::IsItemHovered())
      draw->AddRectFilled(at, {at.x + width, at.y + height},
                          chosen ? theme::kChosen : theme::kHovered, 4);
    ImGui::PopID();
    drawText({at.x + 10, at.y + 4}, chosen ? theme::kText : theme::kFaint, argument.name);
    if (isOutside)
      draw->AddCircleFilled({at.x + width - 9, at.y + height / 2}, 3.5F, theme::kError);
    at.x += width + 4;
  }
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy({at.x - start.x, height});
}

/// "slice 2 of 4", or nothing where there is one.
std::string sliceText(const TraceModel &model, const Selection &selection) {
  const int64_t count = model.plane(selection.tensor, -1).sliceCount();
  return count <= 1 ? ""
         : selection.slice < 0
             ? "all slices"
             : "slice " + std::to_string(selection.slice) + " of " + std::to_string(count);
}

void drawSliceChoice(const TraceModel &model, Selection &selection, const std::string &text) {
  const int64_t count = model.plane(selection.tensor, -1).sliceCount();
  ImGui::BeginGroup();
  ImGui::SetNextItemWidth(kSliceSlider);
  int slice = static_cast<int>(selection.slice);
  if (ImGui::SliderInt("##slice", &slice, -1, static_cast<int>(count) - 1, "",
                       ImGuiSliderFlags_NoInput))
    selectSlice(model, selection, slice);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text.c_str());
  ImGui::EndGroup();
}

void drawControls(const TraceModel &model, Selection &selection) {
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  const bool isLow = ImGui::GetContentRegionAvail().y < kLow;
  drawTensorChoice(model, selection);
  /// The next item stands beside the last one where it fits, else below.
  const auto goOn = [right](float gap, float width) {
    if (ImGui::GetItemRectMax().x + gap + width <= right)
      ImGui::SameLine(0, gap);
  };
  if (isLow) // each line counts
    goOn(14, segmentedWidth({"Reads", "Writes", "Both"}));
  selection.mode = static_cast<HeatMode>(
      segmented("mode", {"Reads", "Writes", "Both"}, static_cast<int>(selection.mode)));
  goOn(14, segmentedWidth({"Linear", "Log"}));
  selection.logScale = segmented("scale", {"Linear", "Log"}, selection.logScale ? 1 : 0) == 1;
  goOn(14, textWidth("Fit") + 2 * ImGui::GetStyle().FramePadding.x);
  if (ImGui::Button("Fit"))
    selection.isFitted = true;
  const std::string slices = sliceText(model, selection);
  if (!slices.empty()) {
    goOn(14, kSliceSlider + 8 + textWidth(slices));
    drawSliceChoice(model, selection, slices);
  }
  const AccessCounts &counts = model.argumentCounts()[static_cast<size_t>(selection.tensor)];
  /// `together`: the width of what is to stay in one line.
  const auto put = [&](const std::string &text, ImU32 color, float together = 0) {
    const float width = std::min(textWidth(text), right - ImGui::GetWindowPos().x);
    goOn(16, std::max(width, together));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    drawText({at.x, at.y + 4}, color, text);
    ImGui::Dummy({width, ImGui::GetFrameHeight()});
  };
  if (counts.outside > 0)
    put(countText(counts.outside) + " outside", theme::kError);
  const std::string read = "read " + countText(counts.loads + counts.atomics);
  const std::string written = "written " + countText(counts.stores + counts.atomics);
  const float both = textWidth(read) + 16 + textWidth(written);
  put(read, theme::kRead, both);
  put(written, theme::kWrite);
  const std::string masked = "masked off " + countText(counts.masked);
  if (counts.masked > 0 && ImGui::GetItemRectMax().x + 16 + textWidth(masked) <= right)
    put(masked, theme::kFaint); // worth no line of its own
}

/// Row and column of the marked cells in sight, of which there are few when numbers are drawn.
std::set<std::pair<int64_t, int64_t>> markedCells(const TraceModel &model,
                                                  const Selection &selection) {
  std::set<std::pair<int64_t, int64_t>> cells;
  if (!selection.showsMarks)
    return cells;
  const Region &region = selection.region;
  for (const MarkSegment &each :
       model.marks(selection.tensor, selection.slice, selection.marks())) {
    if (static_cast<double>(each.first.row + 1) < region.top ||
        static_cast<double>(each.first.row) > region.bottom)
      continue;
    const auto begin = std::max(each.first.column, static_cast<int64_t>(std::floor(region.left)));
    const auto end =
        std::min(each.first.column + each.columns, static_cast<int64_t>(std::ceil(region.right)));
    for (int64_t column = begin; column < end; ++column)
      cells.emplace(each.first.row, column);
  }
  return cells;
}

/// Counts inside the cells, where the cells are large enough.
void drawCellNumbers(const TraceModel &model, const Selection &selection, const PlotArea &area) {
  const double cellWidth = area.size.x / area.region.width();
  const double cellHeight = area.size.y / area.region.height();
  const HeatMap &heat = model.heat(selection.tensor);
  const TimedHeat *timed = selection.timeRange()
                               ? &model.timedHeat(selection.tensor, selection.slice, selection.mode)
                               : nullptr;
  const HeatScale scale = selection.heatRequest(1, 1).scale(heat);
  const float widest = textWidth(countText(scale.maximum()));
  if (cellWidth < widest + 8 || cellHeight < ImGui::GetFontSize() + 4 ||
      area.region.width() * area.region.height() > kMaxCellNumbers)
    return;
  const Plane &plane = model.plane(selection.tensor, selection.slice);
  const HeatMap *lit =
      selection.filter().isAny() ? nullptr : &model.footprint(selection.tensor, selection.filter());
  const auto put = [&](Cell cell, const std::string &text, ImU32 color) {
    const float x = area.x(static_cast<double>(cell.column) + 0.5) - textWidth(text) / 2;
    const float y = area.y(static_cast<double>(cell.row) + 0.5) - ImGui::GetFontSize() / 2 - 1;
    drawText({x, y}, color, text);
  };
  /// A dark ground for a number, which no pattern disturbs.
  const auto plate = [&](Cell cell, float width) {
    const float x = area.x(static_cast<double>(cell.column) + 0.5);
    const float y = area.y(static_cast<double>(cell.row) + 0.5);
    const float half = ImGui::GetFontSize() / 2 + 1;
    ImGui::GetWindowDrawList()->AddRectFilled(
        {x - width / 2 - 3, y - half}, {x + width / 2 + 3, y + half}, IM_COL32(0, 0, 0, 255), 3);
  };
  const std::set<std::pair<int64_t, int64_t>> marked = markedCells(model, selection);
  const auto rows = std::make_pair(
      std::max<int64_t>(0, static_cast<int64_t>(area.region.top)),
      std::min<int64_t>(plane.rows(), static_cast<int64_t>(std::ceil(area.region.bottom))));
  for (int64_t row = rows.first; row < rows.second; ++row)
    for (int64_t column = std::max<int64_t>(0, static_cast<int64_t>(area.region.left));
         column < plane.columnsOf(row) && static_cast<double>(column) < area.region.right;
         ++column) {
      const int64_t slot = plane.slotOf({row, column});
      const uint32_t count =
          timed != nullptr ? timed->value(slot) : heat.value(slot, selection.mode);
      const bool bright = lit == nullptr || lit->value(slot, HeatMode::Both) > 0;
      const bool isMarked = marked.contains({row, column});
      if (count > 0 && isMarked)
        plate({row, column}, textWidth(countText(count)));
      if (count > 0)
        put({row, column}, countText(count),
            !isMarked && bright && perceivedLightness(scale.color(count)) > 0.62F
                ? IM_COL32(10, 14, 20, 255)
                : IM_COL32(236, 240, 247, bright || isMarked ? 255 : 110));
    }
  for (const OutsideCell &each : model.outsideCells(selection.tensor, selection.slice).cells) {
    const uint32_t count = timed != nullptr ? timed->outsideValue(each.place.slot)
                                            : each.place.counts.of(selection.mode);
    if (count > 0 && !each.isFar)
      put(each.cell, countText(count), IM_COL32(20, 4, 2, 255));
  }
}

/// What a kind of marks is called. Of two runs A and B are the runs, not the sides of a race.
std::string_view nameOf(MarkKind kind, const Selection &selection) {
  if (selection.isOfTwo && kind == MarkKind::SideA)
    return "one side";
  if (selection.isOfTwo && kind == MarkKind::SideB)
    return "other side";
  if (selection.isOfTwo && kind == MarkKind::Race)
    return "both sides";
  return markLabel(kind);
}

/// The kinds of marks that are in the picture.
std::vector<LegendLine> legendOf(const TraceModel &model, const Selection &selection) {
  std::array<bool, kMarkKinds> isThere{};
  if (selection.showsMarks)
    for (const MarkSegment &segment :
         model.marks(selection.tensor, selection.slice, selection.marks()))
      isThere[static_cast<size_t>(segment.kind)] = true;
  std::vector<LegendLine> legend;
  for (int kind = 0; kind < kMarkKinds; ++kind)
    if (isThere[static_cast<size_t>(kind)])
      legend.push_back({selection.pictures->mark(static_cast<MarkKind>(kind)),
                        nameOf(static_cast<MarkKind>(kind), selection)});
  return legend;
}

} // namespace

void drawCellCursor(const PlotArea &area, Cell cell, ImU32 color) {
  const auto column = static_cast<double>(cell.column);
  const auto row = static_cast<double>(cell.row);
  ImVec2 low = {area.x(column), area.y(row)};
  ImVec2 high = {area.x(column + 1), area.y(row + 1)};
  for (; high.x - low.x < 6; low.x -= 1, high.x += 1) {
  }
  for (; high.y - low.y < 6; low.y -= 1, high.y += 1) {
  }
  ImDrawList *draw = ImGui::GetWindowDrawList();
  draw->PushClipRect(area.at, area.end(), true);
  draw->AddRect({low.x - 2, low.y - 2}, {high.x + 2, high.y + 2}, IM_COL32(0, 0, 0, 255), 0, 0, 1);
  draw->AddRect({low.x - 1, low.y - 1}, {high.x + 1, high.y + 1}, color, 0, 0, 2);
  draw->PopClipRect();
}

void handlePlotMouse(Selection &selection, const PlotArea &area, const PlotCells &cells) {
  ImGui::SetCursorScreenPos(area.at);
  ImGui::InvisibleButton("plot", area.size);
  const ImGuiIO &io = ImGui::GetIO();
  const double columnsPerPixel = area.region.width() / area.size.x;
  const double rowsPerPixel = area.region.height() / area.size.y;
  if (ImGui::IsItemHovered()) {
    if (io.MouseWheel != 0) {
      const double x = area.region.left + (io.MousePos.x - area.at.x) * columnsPerPixel;
      const double y = area.region.top + (io.MousePos.y - area.at.y) * rowsPerPixel;
      selection.region = zoomed(area.region, io.MouseWheel > 0 ? 1.25 : 0.8, x, y, cells.content);
      selection.isFitted = false;
    }
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      selection.isFitted = true;
    const Cell cell = area.cellAt(io.MousePos);
    if (cells.isThere(cell) && !ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
      drawCellCursor(area, cell, IM_COL32(255, 255, 255, 160));
      ImGui::BeginTooltip();
      cells.drawTooltip(cell);
      ImGui::EndTooltip();
    }
    if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) && io.MouseDragMaxDistanceSqr[0] < 9 &&
        cells.isThere(cell))
      selection.cell = cell;
  }
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    selection.region = moved(area.region, -io.MouseDelta.x * columnsPerPixel,
                             -io.MouseDelta.y * rowsPerPixel, cells.content);
    selection.isFitted = false;
  }
}

void drawHeatPlot(const TraceModel &model, Selection &selection, PlotArea area,
                  const std::function<void(Cell)> &drawTooltip) {
  const OutsideCells &outside = model.outsideCells(selection.tensor, selection.slice);
  const Plane &plane = model.plane(selection.tensor, selection.slice);
  selection.plotWidth = area.size.x;
  selection.plotHeight = area.size.y;
  if (selection.isFitted)
    selection.region = fitRegion(outside.content, area.size.x, area.size.y);
  area.region = selection.region;
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (plane.rows() == 0) {
    draw->AddRectFilled(area.at, area.end(), kPlotBackground);
    ImGui::SetCursorScreenPos(area.at);
    drawEmpty("this tensor has no elements");
    return;
  }
  const HeatRequest request =
      selection.heatRequest(theme::pixels(area.size.x), theme::pixels(area.size.y));
  drawPicture(selection.pictures->heat(model, request), area.at, area.end());
  drawBorder(plane, area);
  drawAxes(plane, area);
  drawCellNumbers(model, selection, area);
  const HeatMap &heat = model.heat(selection.tensor);
  drawColorBar(area, request.scale(heat), selection.pictures->colorBar(selection.look.countColors),
               !outside.cells.empty(), legendOf(model, selection));
  if (selection.cell)
    drawCellCursor(area, *selection.cell, IM_COL32(255, 255, 255, 255));
  handlePlotMouse(selection, area,
                  {outside.content,
                   [&](Cell cell) { return slotAt(model, selection, cell).has_value(); },
                   drawTooltip});
}

namespace {

/// A button that opens a drawer, or closes the open one; its left end.
float drawDrawerButton(Selection &selection, PanelKind panel, float right, float top) {
  const std::string title(panelTitle(panel));
  const float left = right - textWidth(title) - 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetCursorScreenPos({left, top});
  if (ImGui::Button(title.c_str())) {
    if (selection.drawer == panel)
      selection.drawer.reset();
    else
      focusPanel(selection, panel);
  }
  return left;
}

} // namespace

void drawHeatmapPanel(const TraceModel &model, Selection &selection) {
  const bool hasTensor = selection.tensor >= 0;
  const TraceArgument *argument =
      hasTensor ? &model.launch().arguments[static_cast<size_t>(selection.tensor)] : nullptr;
  const PanelFrame frame(PanelKind::Heatmap, selection,
                         hasTensor ? argument->name + "   " + shapeText(*argument) + "   " +
                                         bytesText(argument->storageBytes)
                                   : "");
  if (!hasTensor) {
    drawEmpty("the launch has no tensor, or none small enough to show");
    return;
  }
  drawControls(model, selection);
  const Plane &plane = model.plane(selection.tensor, selection.slice);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float left = std::min(room.x / 3, std::max(24.0F, rowLabelWidth(plane)));
  PlotArea area;
  // Where there is little room, the plot has it.
  const float whole = room.y - 24 - 8;
  const bool hasStrip = whole - kTimelineHeight - kInspectorHeight >= kLeastAboveStrip;
  const bool hasTime =
      whole - kTimelineHeight >= kLeastAboveTime || selection.time.mode != TimeMode::All;
  area.at = {std::floor(at.x + left), std::floor(at.y + 24)};
  area.size = {std::max(32.0F, std::floor(room.x - left - kColorBarWidth)),
               std::max(32.0F, std::floor(whole - (hasTime ? kTimelineHeight : 0) -
                                          (hasStrip ? kInspectorHeight : 0)))};
  drawHeatPlot(model, selection, area,
               [&](Cell cell) { drawElementTooltip(model, selection, cell); });
  if (hasTime)
    drawTimeline(model, selection, {at.x, area.end().y + 10}, room.x);
  selection.elementBox = {area.at.x, area.at.y, area.end().x, area.end().y};
  if (!hasStrip)
    return;
  const float strip = area.end().y + 10 + kTimelineHeight;
  const float middle = strip + (kInspectorHeight - 4 - ImGui::GetFrameHeight()) / 2;
  float buttons = at.x + room.x + 2;
  const bool hasRoom = room.x > kRoomForButtons; // else there are the keys
  if (hasRoom && model.launch().gpu.isThere())
    for (const PanelKind panel : {PanelKind::Roofline, PanelKind::Traffic})
      buttons = drawDrawerButton(selection, panel, buttons - 6, middle);
  if (hasRoom)
    buttons = drawDrawerButton(selection, PanelKind::History, buttons - 6, middle);
  drawElementStrip(model, selection, {at.x, strip}, {buttons - at.x - 8, kInspectorHeight - 4});
  selection.elementBox = {at.x, strip, at.x + room.x, strip + kInspectorHeight - 4};
}

} // namespace blockscope::viz
