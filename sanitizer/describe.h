// Parts of a finding that sanitizers fill in the same way, besides interpreter/describe.h.
#pragma once

#include "sanitizer/observation.h"

namespace blockscope::sanitizer {

/// The two modes stand at different places of a statement when it is decided where it goes on:
/// returns the column of its first word. May read source text, which may come from Python.
int32_t columnOfStatement(const SourceLocation &location);
/// Stepped kernels do not know what a result is assigned to, so no report says it.
SourceLocation withoutVariable(const SourceLocation &location);

} // namespace blockscope::sanitizer
