// The version of Blockscope, from the root CMakeLists.txt.
#include "core/version.h"

namespace blockscope {

const char *versionString() { return BLK_VERSION; }

} // namespace blockscope
