// What sanitizers see of the interpreter, under the names that it has there.
#pragma once

#include "interpreter/describe.h"
#include "interpreter/observer.h"

namespace blockscope::sanitizer {

using namespace interpreter; // NOLINT: a sanitizer speaks of nothing else

} // namespace blockscope::sanitizer
