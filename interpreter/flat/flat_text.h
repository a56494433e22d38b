// A flat program as text.
#pragma once

#include "interpreter/flat/flat_program.h"

namespace blockscope::interpreter {

/// Returns one line per instruction and member of a fused group.
std::string flatText(const FlatProgram &program);

} // namespace blockscope::interpreter
