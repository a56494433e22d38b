// Writes the findings of a launch: a row for each, and tables of their details.
#pragma once

#include "core/trace/hdf5_handle.h"
#include "core/trace/trace.h"

#include <vector>

namespace blockscope {

/// Makes the group `findings`, and, where there are any, the groups `finding_*`, in the group of a
/// launch.
/// Errors: false.
bool writeFindings(hid_t launch, const std::vector<TraceFinding> &findings);

} // namespace blockscope
