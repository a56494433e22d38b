// Reading of the access runs of one launch. Private to the reader.
#pragma once

#include "core/trace/access_columns.h"
#include "core/trace/hdf5/file.h"
#include "core/trace/trace_limits.h"

#include <string>

namespace blockscope {

/// Reads every column of the group `accesses`, on all processors; what they say is not checked yet.
/// `version` is that of the file, `label` names the group in errors.
/// Errors: false, with what is wrong in `problem`.
bool readAccessColumns(const hdf5::File &file, const hdf5::Group &group, const std::string &label,
                       int version, MemoryBudget &budget, TraceAccesses &accesses,
                       std::string &problem);

} // namespace blockscope
