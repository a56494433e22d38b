// Details of findings: hints, values, places, elements and who waits for whom. Private to the
// reader.
#pragma once

#include "core/trace/hdf5/dataset.h"
#include "core/trace/trace.h"
#include "core/trace/trace_limits.h"

#include <string>

namespace blockscope {

/// Adds to the findings of `launch` what the tables of their details say. Files from before there
/// were such tables have none of them.
/// Errors: false, with the problem in `error`.
bool readFindingDetails(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                        MemoryBudget &budget, TraceLaunch &launch, std::string &error);

} // namespace blockscope
