// The version of Blockscope.
#pragma once

namespace blockscope {

/// Returns the version as "major.minor.patch".
const char *versionString();

} // namespace blockscope
