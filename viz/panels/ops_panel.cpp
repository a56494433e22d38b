// The list of ops.
#include "viz/panels/ops_panel.h"

#include "viz/model/gpu_view.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace blockscope::viz {
namespace {

ImU32 kindColor(TraceOpKind kind) {
  switch (kind) {
  case TraceOpKind::Read:
    return theme::kRead;
  case TraceOpKind::Write:
    return theme::kWrite;
  case TraceOpKind::Atomic:
    return theme::kAtomic;
  case TraceOpKind::Other:
    return theme::kFaint;
  }
  return theme::kFaint;
}

/// File, line, tensor and masked lanes: as much of it as fits.
std::string placeText(const TraceModel &model, int32_t index, const AccessCounts &counts,
                      float width) {
  const TraceOp &op = model.launch().ops[static_cast<size_t>(index)];
  const int tensor = model.tensorOfOp(index);
  const std::string line = "line " + std::to_string(op.line);
  const std::string file = op.source >= 0
                               ? fileName(model.sources()[static_cast<size_t>(op.source)].path) +
                                     ":" + std::to_string(op.line)
                               : line;
  const std::string name =
      tensor >= 0 ? "  " + model.launch().arguments[static_cast<size_t>(tensor)].name : "";
  const std::string masked = counts.masked > 0 ? "  " + countText(counts.masked) + " masked" : "";
  for (const std::string &text :
       {file + name + masked, line + name + masked, line + name, line + masked})
    if (textWidth(text) <= width)
      return text;
  return line;
}

/// "4x sectors", of an op that would move twice what it needs on the GPU, or more.
std::string sectorsText(const TraceModel &model, int32_t index) {
  const TraceTraffic *traffic = trafficOf(model, index);
  const double ratio = traffic != nullptr ? ratioOf(traffic->sectors, traffic->leastSectors) : 1;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2gx sectors", ratio);
  return ratio >= kBadRatio ? text.data() : "";
}

void drawOp(const TraceModel &model, Selection &selection, int32_t index,
            const AccessCounts &counts, uint64_t most) {
  const TraceOp &op = model.launch().ops[static_cast<size_t>(index)];
  const float font = ImGui::GetFontSize();
  const float height = 2 * font + 17;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool chosen = selection.op == index;
  if (chosen && selection.scrollsToChoice)
    ImGui::SetScrollHereY(0.5F);
  ImGui::PushID(index);
  if (ImGui::InvisibleButton("op", {width, height})) {
    if (chosen)
      selection.op = -1;
    else
      selectOp(model, selection, index);
  }
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (chosen || hovered)
    draw->AddRectFilled(at, {at.x + width, at.y + height},
                        chosen ? theme::kChosen : theme::kHovered, 4);
  draw->AddRectFilled({at.x, at.y + 5}, {at.x + 3, at.y + height - 8}, kindColor(op.kind), 2);
  const std::string total = countText(counts.total());
  const float right = at.x + width - 8;
  drawTextRight(right, at.y + 4, counts.total() > 0 ? theme::kText : theme::kFaint, total);
  const std::string name = op.name + (op.variable.empty() ? "" : "  " + op.variable);
  drawText({at.x + 11, at.y + 4}, theme::kText, name, width - 31 - textWidth(total));
  const std::string outside =
      counts.outside > 0 ? countText(counts.outside) + " outside" : sectorsText(model, index);
  drawTextRight(right, at.y + font + 8, theme::kError, outside);
  drawText({at.x + 11, at.y + font + 8}, theme::kFaint,
           placeText(model, index, counts, width - 31 - textWidth(outside)),
           width - 31 - textWidth(outside));
  const float bar =
      most > 0 ? 3 + (width - 22) * static_cast<float>(counts.total()) / static_cast<float>(most)
               : 0;
  draw->AddRectFilled({at.x + 11, at.y + height - 4}, {at.x + 11 + bar, at.y + height - 2},
                      kindColor(op.kind), 1);
  if (hovered && !op.callChain.empty())
    ImGui::SetTooltip("called from\n%s", op.callChain.c_str());
}

} // namespace

void drawOpsPanel(const TraceModel &model, Selection &selection) {
  const bool ofProgram = selection.program >= 0;
  const PanelFrame frame(PanelKind::Ops, selection,
                         ofProgram ? "of program " + programText(model, selection.program)
                                   : countText(model.total().total()) + " accesses");
  const std::vector<AccessCounts> programCounts =
      ofProgram ? model.opCountsOf(selection.program) : std::vector<AccessCounts>();
  const std::vector<AccessCounts> &counts = ofProgram ? programCounts : model.opCounts();
  uint64_t most = 0;
  for (const AccessCounts &each : counts)
    most = std::max(most, each.total());
  bool any = false;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8, 2));
  for (size_t op = 0; op < counts.size(); ++op) {
    if (model.opCounts()[op].blocks == 0 && model.opCounts()[op].total() == 0)
      continue;
    drawOp(model, selection, static_cast<int32_t>(op), counts[op], most);
    any = true;
  }
  ImGui::PopStyleVar();
  if (!any)
    drawEmpty("no op accessed memory");
}

} // namespace blockscope::viz
