// What a trace tells of a finding beyond its message.
#pragma once

#include "viz/model/trace_model.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscope::viz {

/// The element that a program touched last: what it waits for, when it waits for ever.
struct LastElement {
  int argument = -1;
  int64_t slot = 0;
};
/// Nothing where its accesses were not recorded, or belong to no tensor.
std::optional<LastElement> lastElementOf(const TraceModel &model, int64_t program);

/// The place of the finding, and the other side of a race; null where the trace has none.
const TracePlace *placeWith(const TraceFinding &finding, SiteRole role);

/// Whether two accesses are shown beside one another.
bool hasSides(const TraceFinding &finding);

/// The finding whose shares of lines are shown: the chosen one, else the first that has any; null
/// where none has.
const TraceFinding *findingWithShares(const TraceModel &model, int chosen);

/// "62 %", "under 1 %".
std::string shareText(int32_t permille);

/// How many elements of a tensor a finding marks.
int64_t markedElements(const TraceFinding &finding, int argument);

/// What of a finding cannot be shown, and why, in whole sentences.
std::vector<std::string> notShown(const TraceModel &model, const TraceFinding &finding);

/// "here", "other side", "born at"...
std::string_view roleLabel(const TraceFinding &finding, const TracePlace &place);

} // namespace blockscope::viz
