// Parts of a finding that sanitizers fill in the same way, besides interpreter/describe.h.
#pragma once

#include "sanitizer/observation.h"

#include <string>

namespace blockscope::sanitizer {

/// Returns the element at `bytes` as text, read as the tensor's dtype when sizes agree.
std::string valueText(const void *bytes, int elementBytes, llvm::StringRef dtype);

} // namespace blockscope::sanitizer
