// Reading of the small tables of one launch. Private to the reader.
#pragma once

#include "core/trace/hdf5/file.h"
#include "core/trace/trace.h"
#include "core/trace/trace_limits.h"

#include <string>

namespace blockscope {

/// Opens the group `name` of `parent`.
/// Errors: false when there is none.
bool openGroup(const hdf5::File &file, const hdf5::Group &parent, const std::string &name,
               hdf5::Group &group);

/// Reads attributes, arguments, parameters, options, ops and findings; what they say is not checked
/// yet. `label` names the group in errors.
/// Errors: false, with what is wrong in `error`.
bool readLaunchTables(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                      MemoryBudget &budget, TraceLaunch &launch, std::string &error);

} // namespace blockscope
