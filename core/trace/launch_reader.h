// Reading of the small tables of one launch. Private to the reader.
#pragma once

#include "core/trace/hdf5_handle.h"
#include "core/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace blockscope {

/// Opens a group that is no link to elsewhere; empty when there is none.
Hdf5Group openGroup(hid_t parent, const std::string &name);

/// Reads attributes, arguments, parameters, options, ops and findings. `label` names the group in
/// errors.
/// Errors: false, with what is wrong in `error`.
bool readLaunchTables(hid_t group, const std::string &label, uint64_t fileBytes, size_t sourceCount,
                      TraceLaunch &launch, std::string &error);

} // namespace blockscope
