// A row for each memory op, and for each exchange; those that take twice what they need are red.
#include "viz/panels/traffic_panel.h"

#include "viz/model/gpu_view.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace blockscope::viz {
namespace {

/// Ends of the columns, in pixels of the screen.
struct Columns {
  float left, way, bytes, taken, least, ratio, bar, right;
  Columns(float from, float width)
      : left(from + 8), way(from + width * 0.40F), bytes(from + width * 0.60F),
        taken(from + width * 0.71F), least(from + width * 0.81F), ratio(from + width * 0.89F),
        bar(ratio + 8), right(from + width - 14) {}
};

/// What a row says.
struct Row {
  std::string name;
  std::string way;
  std::string bytes;
  double taken = 0; ///< sectors of a request, wavefronts of a warp
  double least = 0;
  double ratio = 1;
  bool isChosen = false;
};

ImU32 colorOf(double ratio) {
  return ratio >= kBadRatio       ? theme::kError
         : ratio >= kNotableRatio ? theme::kWarning
                                  : theme::kText;
}

std::string numberText(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 100 ? "%.3g" : "%.0f", value);
  return text.data();
}

/// True when it was pressed.
bool drawRow(const Row &row, const Columns &columns, int id) {
  const float height = ImGui::GetFontSize() + 6;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::PushID(id);
  const bool isPressed = ImGui::InvisibleButton("row", {width, height});
  const bool isHovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (row.isChosen || isHovered)
    draw->AddRectFilled(at, {at.x + width, at.y + height},
                        row.isChosen ? theme::kChosen : theme::kHovered, 3);
  const float y = at.y + 3;
  const ImU32 color = colorOf(row.ratio);
  const float end = row.way.empty() ? columns.bytes - 34 : columns.way - 10;
  drawText({columns.left, y}, theme::kText, row.name, end - columns.left);
  drawText({columns.way, y}, theme::kFaint, row.way, columns.bytes - columns.way - 44);
  drawTextRight(columns.bytes, y, theme::kText, row.bytes);
  drawTextRight(columns.taken, y, color, numberText(row.taken));
  drawTextRight(columns.least, y, theme::kFaint, numberText(row.least));
  drawTextRight(columns.ratio, y, color, numberText(row.ratio) + "x");
  const float room = columns.right - columns.bar;
  const float full = room * static_cast<float>(std::min(1.0, row.ratio / 8));
  if (room > 8)
    draw->AddRectFilled({columns.bar, at.y + height / 2 - 3},
                        {columns.bar + std::max(2.0F, full), at.y + height / 2 + 3},
                        row.ratio >= kNotableRatio ? color : theme::kBorder, 2);
  return isPressed;
}

void drawHead(const Columns &columns, const char *name, const char *way, const char *taken) {
  const float y = ImGui::GetCursorScreenPos().y;
  drawText({columns.left, y}, theme::kAccent, name, columns.way - columns.left - 8);
  drawText({columns.way, y}, theme::kFaint, way);
  drawTextRight(columns.bytes, y, theme::kFaint, "bytes");
  drawTextRight(columns.taken, y, theme::kFaint, taken);
  drawTextRight(columns.least, y, theme::kFaint, "ideal");
  drawTextRight(columns.ratio, y, theme::kFaint, "ratio");
  ImGui::Dummy({1, ImGui::GetFontSize() + 2});
}

std::string lineText(const TraceModel &model, int source, int line) {
  return (source >= 0 ? fileName(model.sources()[static_cast<size_t>(source)].path) + ":"
                      : "line ") +
         std::to_string(line) + "  ";
}

Row rowOf(const TraceModel &model, const Selection &selection, const TraceTraffic &traffic) {
  const TraceOp &op = model.launch().ops[static_cast<size_t>(traffic.op)];
  const int tensor = model.tensorOfOp(traffic.op);
  const auto requests = static_cast<double>(std::max<int64_t>(1, traffic.requests));
  Row row;
  row.name = lineText(model, op.source, op.line) + op.name;
  if (tensor >= 0)
    row.name += "  " + model.launch().arguments[static_cast<size_t>(tensor)].name;
  row.way = traffic.way;
  row.bytes = traffic.bytes > 0 ? std::to_string(traffic.bytes) : "block";
  row.taken = static_cast<double>(traffic.sectors) / requests;
  row.least = static_cast<double>(traffic.leastSectors) / requests;
  row.ratio = ratioOf(traffic.sectors, traffic.leastSectors);
  row.isChosen = selection.op == traffic.op;
  return row;
}

Row rowOf(const TraceModel &model, const Selection &selection, const TraceExchange &exchange) {
  Row row;
  constexpr std::string_view kWhere = "where ";
  const std::string what =
      exchange.what.starts_with(kWhere) ? exchange.what.substr(kWhere.size()) : exchange.what;
  row.name = lineText(model, exchange.source, exchange.line) +
             (exchange.inLoop != 0 ? "in a loop " : "") + what;
  row.bytes = std::to_string(exchange.bytes);
  row.taken = static_cast<double>(exchange.wavefronts);
  row.least = static_cast<double>(exchange.leastWavefronts);
  row.ratio = ratioOf(exchange.wavefronts, exchange.leastWavefronts);
  row.isChosen =
      selection.op < 0 && selection.source == exchange.source && selection.line == exchange.line;
  return row;
}

} // namespace

void drawTrafficPanel(const TraceModel &model, Selection &selection) {
  const TraceGpu &gpu = model.launch().gpu;
  const PanelFrame frame(PanelKind::Traffic, selection,
                         gpu.isThere() ? "predicted for " + gpu.target.target + ", " +
                                             plural(static_cast<uint64_t>(gpu.target.warps), "warp")
                                       : "");
  if (!gpu.isThere()) {
    drawEmpty(std::string("nothing was predicted: ") + kHowToPredict);
    return;
  }
  selection.worstFirst =
      segmented("order", {"By line", "Worst first"}, selection.worstFirst ? 1 : 0) == 1;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::Dummy({1, 4});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Columns columns(at.x, ImGui::GetContentRegionAvail().x);
  int id = 0;
  drawHead(columns, "Global memory, by request", "way", "sectors");
  for (const size_t number : trafficOrder(model, selection.worstFirst)) {
    const TraceTraffic &traffic = gpu.traffic[number];
    if (drawRow(rowOf(model, selection, traffic), columns, id++))
      selectOp(model, selection, traffic.op);
  }
  if (gpu.traffic.empty())
    drawText({columns.left, ImGui::GetCursorScreenPos().y}, theme::kFaint,
             "no access was looked at");
  if (!gpu.exchanges.empty()) {
    ImGui::Dummy({1, 8});
    drawHead(columns, "Shared memory, by warp", "", "waves");
  }
  for (const size_t number : exchangeOrder(model, selection.worstFirst)) {
    const TraceExchange &exchange = gpu.exchanges[number];
    if (drawRow(rowOf(model, selection, exchange), columns, id++) && exchange.source >= 0)
      selectLine(model, selection, exchange.source, exchange.line);
  }
  ImGui::PopStyleVar();
}

} // namespace blockscope::viz
