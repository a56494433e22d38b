// Sentences and tables about findings.
#include "viz/model/finding_story.h"

#include "core/report.h"

namespace blockscope::viz {
const TracePlace *placeWith(const TraceFinding &finding, SiteRole role) {
  for (const TracePlace &place : finding.places)
    if (place.role == role)
      return &place;
  return nullptr;
}

bool hasSides(const TraceFinding &finding) {
  return placeWith(finding, SiteRole::OtherSide) != nullptr;
}

std::optional<LastElement> lastElementOf(const TraceModel &model, int64_t program) {
  const std::optional<size_t> row = model.lastRowOf(program);
  if (!row)
    return std::nullopt;
  const TraceRun run = model.accesses()[*row];
  if (run.argument < 0)
    return std::nullopt;
  return LastElement{run.argument, model.layout(run.argument).slotOf(run.offsetBytes)};
}

const TraceFinding *findingWithShares(const TraceModel &model, int chosen) {
  const auto &findings = model.launch().findings;
  if (chosen >= 0 && !findings[static_cast<size_t>(chosen)].lineShares.empty())
    return &findings[static_cast<size_t>(chosen)];
  for (const TraceFinding &finding : findings)
    if (!finding.lineShares.empty())
      return &finding;
  return nullptr;
}

std::string shareText(int32_t permille) {
  return permille < 10 ? "under 1 %" : std::to_string((permille + 5) / 10) + " %";
}

int64_t markedElements(const TraceFinding &finding, int argument) {
  int64_t count = 0;
  for (const TraceElements &run : finding.elements)
    if (run.argument == argument)
      count += run.innerCount * run.outerCount;
  return count;
}

std::vector<std::string> notShown(const TraceModel &model, const TraceFinding &finding) {
  std::vector<std::string> sentences;
  const TraceLaunch &launch = model.launch();
  if (finding.isElsewhere) {
    sentences.emplace_back("It was found in a launch that was not recorded: its program, op and "
                           "elements are not in this file.");
    return sentences;
  }
  if (finding.elementOffsetBytes && finding.argument < 0)
    sentences.emplace_back("Its tensor is none of the tensors that were recorded.");
  if (finding.argument >= 0 && !model.isShown(finding.argument))
    sentences.push_back("Its tensor, " +
                        launch.arguments[static_cast<size_t>(finding.argument)].name +
                        ", is too large to be drawn.");
  if (launch.droppedRuns > 0) {
    const bool isRecorded = finding.program < 0 || model.lastRowOf(finding.program).has_value();
    sentences.push_back(
        std::string(isRecorded ? "Not all accesses of this launch were recorded: "
                               : "The accesses of this program were not recorded: ") +
        std::to_string(launch.droppedRuns) + " access runs of the launch were left out.");
  }
  if (finding.hasMoreElements)
    sentences.emplace_back("More elements were found than were recorded: some have no mark.");
  return sentences;
}

std::string_view roleLabel(const TraceFinding &finding, const TracePlace &place) {
  switch (place.role) {
  case SiteRole::Here:
    if (&place != finding.places.data())
      return "also";
    return hasSides(finding)                         ? "A  here"
           : placeWith(finding, SiteRole::ArrivesAt) ? "born here"
           : finding.code == FindingCode::IndexWrap || finding.code == FindingCode::IntegerWrap
               ? "wraps here"
               : "here";
  case SiteRole::OtherSide:
    return "B  other side";
  case SiteRole::BornAt:
    if (finding.places.size() > 1 && placeWith(finding, SiteRole::ArrivesAt))
      return "infinity born at";
    break;
  default:
    break;
  }
  return labelOf(place.role);
}

} // namespace blockscope::viz
