// Reading of the access runs of one launch. Private to the reader.
#pragma once

#include "core/trace/access_columns.h"
#include "core/trace/hdf5_handle.h"

#include <cstdint>
#include <string>

namespace blockscope {

/// Reads every column of the group `accesses`, on all processors, and checks every run against
/// `launch`.
/// Errors: false, with what is wrong in `problem`.
bool readAccessColumns(hid_t group, const TraceLaunch &launch, uint64_t fileBytes,
                       TraceAccesses &accesses, std::string &problem);

} // namespace blockscope
