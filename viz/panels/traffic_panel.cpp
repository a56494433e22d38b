// A row for each memory op, and for each exchange; those that take twice what they need are red.
#include "viz/panels/traffic_panel.h"

#include "viz/model/gpu_view.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace blockscope::viz {
namespace {

constexpr float kSpace = 14; ///< between columns
constexpr float kLeastBar = 40;
constexpr float kMostBar = 140;
constexpr const char *kGlobal = "Global memory, by request";
constexpr const char *kShared = "Shared memory, by warp";

/// What a row says.
struct Row {
  std::string line;      ///< "matmul.py:51"
  std::string shortLine; ///< "line 51"
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

/// Where the columns are, in pixels of the screen: as wide as what stands in them. Where there is
/// no room beside the names, the numbers stand below them.
struct Columns {
  float left, nameEnd, way;
  float bytes, taken, least, ratio; ///< right ends
  float bar, right;
  bool isTall = false;
  bool hasShortLines = false;
  std::string nameOf(const Row &row) const {
    return (hasShortLines ? row.shortLine : row.line) + "  " + row.name;
  }
  Columns(const std::vector<Row> &rows, float from, float width);
};

Columns::Columns(const std::vector<Row> &rows, float from, float width)
    : left(from + 8), right(from + width - 14) {
  float names = 0, shortNames = 0, longNames = 0, ways = 0;
  float bytesWidth = textWidth("bytes"), takenWidth = textWidth("sectors");
  float leastWidth = textWidth("ideal"), ratioWidth = textWidth("ratio");
  for (const Row &row : rows) {
    longNames = std::max(longNames, textWidth(row.line + "  " + row.name));
    if (!row.way.empty()) { // what is told of an exchange is long, and is wrapped
      names = std::max(names, textWidth(row.line + "  " + row.name));
      shortNames = std::max(shortNames, textWidth(row.shortLine + "  " + row.name));
      ways = std::max(ways, textWidth(row.way));
    }
    bytesWidth = std::max(bytesWidth, textWidth(row.bytes));
    takenWidth = std::max(takenWidth, textWidth(numberText(row.taken)));
    leastWidth = std::max(leastWidth, textWidth(numberText(row.least)));
    ratioWidth = std::max(ratioWidth, textWidth(numberText(row.ratio) + "x"));
  }
  const float numbers = bytesWidth + takenWidth + leastWidth + ratioWidth + 3 * kSpace;
  const float room = right - left - numbers - ways - 2 * kSpace;
  hasShortLines = room < names;
  isTall = room < shortNames;
  if (isTall)
    hasShortLines = false;
  const float rest = room - (hasShortLines ? shortNames : names) - kSpace;
  const float spare = room + ways - longNames; // that no row needs
  const float barWidth =
      isTall || rest < kLeastBar ? 0 : std::clamp(spare, kLeastBar, std::min(rest, kMostBar));
  ratio = right - (barWidth > 0 ? barWidth + kSpace : 0);
  bar = ratio + kSpace;
  least = ratio - ratioWidth - kSpace;
  taken = least - leastWidth - kSpace;
  bytes = taken - takenWidth - kSpace;
  nameEnd = isTall ? right : bytes - bytesWidth - kSpace;
  way = isTall ? left + kSpace : nameEnd - ways;
}

/// True when it was pressed.
bool drawRow(const Row &row, const Columns &columns, int id) {
  const float step = ImGui::GetFontSize() + 2;
  const float end = columns.isTall || row.way.empty() ? columns.nameEnd : columns.way - kSpace;
  const std::vector<std::string> lines = wrappedLines(columns.nameOf(row), end - columns.left);
  const float height = static_cast<float>(lines.size() + (columns.isTall ? 1 : 0)) * step + 4;
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
  float y = at.y + 3;
  for (const std::string &line : lines) {
    drawText({columns.left, y}, theme::kText, line, end - columns.left);
    y += step;
  }
  if (!columns.isTall)
    y = at.y + 3;
  const ImU32 color = colorOf(row.ratio);
  drawText({columns.way, y}, theme::kFaint, row.way);
  drawTextRight(columns.bytes, y, theme::kText, row.bytes);
  drawTextRight(columns.taken, y, color, numberText(row.taken));
  drawTextRight(columns.least, y, theme::kFaint, numberText(row.least));
  drawTextRight(columns.ratio, y, color, numberText(row.ratio) + "x");
  const float room = columns.right - columns.bar;
  const float full = room * static_cast<float>(std::min(1.0, row.ratio / 8));
  const float middle = y + ImGui::GetFontSize() / 2;
  if (room > 8)
    draw->AddRectFilled({columns.bar, middle - 3}, {columns.bar + std::max(2.0F, full), middle + 3},
                        row.ratio >= kNotableRatio ? color : theme::kBorder, 2);
  return isPressed;
}

/// What the columns are; below the name of the table where there is no room beside it.
void drawHead(const Columns &columns, const std::string &name, const char *way, const char *taken) {
  const float step = ImGui::GetFontSize() + 2;
  const bool hasWay = !columns.isTall && *way != '\0';
  const float end = hasWay ? columns.way - kSpace : columns.bytes - textWidth("bytes") - kSpace;
  const bool isBeside = textWidth(name) <= end - columns.left;
  float y = ImGui::GetCursorScreenPos().y;
  drawText({columns.left, y}, theme::kAccent, name, columns.right - columns.left);
  if (!isBeside)
    y += step;
  if (hasWay)
    drawText({columns.way, y}, theme::kFaint, way);
  drawTextRight(columns.bytes, y, theme::kFaint, "bytes");
  drawTextRight(columns.taken, y, theme::kFaint, taken);
  drawTextRight(columns.least, y, theme::kFaint, "ideal");
  drawTextRight(columns.ratio, y, theme::kFaint, "ratio");
  ImGui::Dummy({1, isBeside ? step : 2 * step});
}

void setLine(const TraceModel &model, int source, int line, Row &row) {
  row.shortLine = "line " + std::to_string(line);
  row.line = source >= 0 ? fileName(model.sources()[static_cast<size_t>(source)].path) + ":" +
                               std::to_string(line)
                         : row.shortLine;
}

Row rowOf(const TraceModel &model, const Selection &selection, const TraceTraffic &traffic) {
  const TraceOp &op = model.launch().ops[static_cast<size_t>(traffic.op)];
  const int tensor = model.tensorOfOp(traffic.op);
  const auto requests = static_cast<double>(std::max<int64_t>(1, traffic.requests));
  Row row;
  setLine(model, op.source, op.line, row);
  row.name = op.name;
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
  setLine(model, exchange.source, exchange.line, row);
  row.name = (exchange.inLoop != 0 ? "in a loop " : "") + what;
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
                         gpu.isThere() ? "predicted for " + gpu.target.target + "   " +
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
  const std::vector<size_t> accesses = trafficOrder(model, selection.worstFirst);
  const std::vector<size_t> exchanges = exchangeOrder(model, selection.worstFirst);
  std::vector<Row> rows;
  for (const size_t number : accesses)
    rows.push_back(rowOf(model, selection, gpu.traffic[number]));
  for (const size_t number : exchanges)
    rows.push_back(rowOf(model, selection, gpu.exchanges[number]));
  const Columns columns(rows, at.x, ImGui::GetContentRegionAvail().x);
  drawHead(columns, kGlobal, "way", "sectors");
  for (size_t row = 0; row < accesses.size(); ++row)
    if (drawRow(rows[row], columns, static_cast<int>(row)))
      selectOp(model, selection, gpu.traffic[accesses[row]].op);
  if (gpu.traffic.empty())
    drawText({columns.left, ImGui::GetCursorScreenPos().y}, theme::kFaint,
             "no access was looked at");
  if (!gpu.exchanges.empty()) {
    ImGui::Dummy({1, 8});
    drawHead(columns, kShared, "", "waves");
  }
  for (size_t row = accesses.size(); row < rows.size(); ++row) {
    const TraceExchange &exchange = gpu.exchanges[exchanges[row - accesses.size()]];
    if (drawRow(rows[row], columns, static_cast<int>(row)) && exchange.source >= 0)
      selectLine(model, selection, exchange.source, exchange.line);
  }
  ImGui::PopStyleVar();
}

} // namespace blockscope::viz
