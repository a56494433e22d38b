// Tables of the viewer as comma-separated text.
#pragma once

#include "viz/model/selection.h"

#include <string>
#include <vector>

namespace blockscope::viz {

/// A row of a table: quoted where needed, ended by a new line.
std::string csvLine(const std::vector<std::string> &fields);

/// The table behind a panel: touched elements of the chosen tensor, programs, ops, lines, findings,
/// or accesses to the chosen element.
std::string csvOf(const TraceModel &model, const Selection &selection, PanelKind panel);

/// What the table is called in a file name: "x_ptr", "programs". Letters, digits, '_' and '-' only.
std::string csvName(const TraceModel &model, const Selection &selection, PanelKind panel);

} // namespace blockscope::viz
