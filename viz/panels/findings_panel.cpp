// The list of findings.
#include "viz/panels/findings_panel.h"

#include "viz/panels/finding_details.h"
#include "viz/panels/theme.h"
#include "viz/panels/widgets.h"

#include <algorithm>

namespace blockscope::viz {
namespace {

/// Line and program; at the end how often, where the title has no room for it.
std::vector<std::string> factsOf(const TraceModel &model, const TraceFinding &finding,
                                 const std::string &count) {
  std::vector<std::string> facts;
  if (finding.source >= 0)
    facts.push_back(fileName(model.sources()[static_cast<size_t>(finding.source)].path) + ":" +
                    std::to_string(finding.site.location.line));
  if (finding.program >= 0)
    facts.push_back("program " + programText(model, finding.program));
  if (!count.empty())
    facts.push_back(count);
  return facts;
}

void drawFinding(const TraceModel &model, Selection &selection, size_t index) {
  const TraceFinding &finding = model.launch().findings[index];
  const ImU32 color = theme::severityColor(finding.severity);
  const float font = ImGui::GetFontSize();
  const float width = ImGui::GetContentRegionAvail().x;
  const float textLeft = 18;
  const float wrap = width - textLeft - 8;
  const std::string title =
      std::string(severityName(finding.severity)) + " " + std::string(codeText(finding.code));
  const std::string count = finding.count > 1 ? countText(finding.count) + " times" : "";
  const bool isBeside = textWidth(title, theme::boldFont()) + textWidth(count) + 8 <= wrap;
  const std::vector<std::string> message = wrappedLines(finding.message, wrap);
  const std::vector<std::string> facts =
      packedLines(factsOf(model, finding, isBeside ? "" : count), wrap);
  const float height = font * static_cast<float>(1 + message.size() + facts.size()) + 20;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool chosen = selection.finding == static_cast<int>(index);
  if (chosen && selection.scrollsToChoice)
    ImGui::SetScrollHereY(0);
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
  if (isBeside)
    drawTextRight(at.x + width - 8, at.y + 5, theme::kFaint, count);
  const float left = at.x + textLeft;
  drawText({left, at.y + 5}, color, title, wrap, theme::boldFont());
  const float messageHeight = drawLines({left, at.y + font + 9}, theme::kText, message, wrap);
  drawLines({left, at.y + font + 12 + messageHeight}, theme::kFaint, facts, wrap);
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
