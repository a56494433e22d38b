// The list of findings.
#include "viz/panels/findings_panel.h"

#include "viz/panels/finding_details.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

std::string placeText(const TraceModel &model, const TraceFinding &finding) {
  std::string text;
  if (finding.source >= 0)
    text = fileName(model.sources()[static_cast<size_t>(finding.source)].path) + ":" +
           std::to_string(finding.site.location.line);
  if (finding.program >= 0)
    text += (text.empty() ? "" : "  ") + ("program " + programText(model, finding.program));
  return text;
}

void drawFinding(const TraceModel &model, Selection &selection, size_t index) {
  const TraceFinding &finding = model.launch().findings[index];
  const ImU32 color = theme::severityColor(finding.severity);
  const float font = ImGui::GetFontSize();
  const float width = ImGui::GetContentRegionAvail().x;
  const float textLeft = 18;
  const float wrap = width - textLeft - 8;
  const float messageHeight = ImGui::CalcTextSize(finding.message.c_str(), nullptr, false, wrap).y;
  const float height = 2 * font + messageHeight + 20;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool chosen = selection.finding == static_cast<int>(index);
  if (chosen && selection.scrollsToChoice)
    ImGui::SetScrollHereY(0);
  if (!chosen && isCutBelow(height))
    return ImGui::Dummy({width, height});
  ImGui::PushID(static_cast<int>(index));
  if (ImGui::InvisibleButton("finding", {width, height}))
    selectFinding(model, selection, static_cast<int>(index));
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList *draw = ImGui::GetWindowDrawList();
  if (chosen || hovered)
    draw->AddRectFilled(at, {at.x + width, at.y + height},
                        chosen ? theme::kChosen : theme::kHovered, 4);
  draw->AddCircleFilled({at.x + 8, at.y + 6 + font / 2}, 4.5F, color);
  const std::string count = finding.count > 1 ? countText(finding.count) + " times" : "";
  drawTextRight(at.x + width - 8, at.y + 5, theme::kFaint, count);
  drawText({at.x + textLeft, at.y + 5}, color,
           std::string(severityName(finding.severity)) + " " + std::string(codeText(finding.code)),
           wrap - textWidth(count) - 8, theme::boldFont());
  draw->AddText(nullptr, 0, {at.x + textLeft, at.y + font + 9}, theme::kText,
                finding.message.c_str(), nullptr, wrap);
  drawText({at.x + textLeft, at.y + font + 12 + messageHeight}, theme::kFaint,
           placeText(model, finding), wrap);
  if (chosen)
    drawFindingDetails(model, selection, textLeft);
}

} // namespace

void drawFindingsPanel(const TraceModel &model, Selection &selection) {
  const auto &findings = model.launch().findings;
  uint64_t errors = 0;
  for (const TraceFinding &finding : findings)
    errors += finding.severity == Severity::Error ? 1 : 0;
  const std::string others =
      findings.size() > errors ? plural(findings.size() - errors, "other") : "";
  const PanelFrame frame(PanelKind::Findings, selection,
                         findings.empty() ? "none recorded"
                         : errors == 0
                             ? others
                             : plural(errors, "error") + (others.empty() ? "" : ", " + others),
                         errors > 0 ? theme::kError : 0);
  if (findings.empty()) {
    const bool leftTensor = model.total().outside > 0 || model.strayAccesses() > 0;
    drawEmpty(leftTensor ? "No finding was recorded, but accesses outside a tensor were. They are "
                           "red in the heat map."
                         : "No finding was recorded with this launch.");
    return;
  }
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8, 2));
  for (size_t index = 0; index < findings.size(); ++index)
    drawFinding(model, selection, index);
  ImGui::PopStyleVar();
}

} // namespace blockscope::viz
