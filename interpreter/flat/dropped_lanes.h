// Loads whose masked-off lanes nobody uses, read off the block IR.
#pragma once

#include "core/ir/tl_dialect.h"

namespace blockscope::interpreter::flat {

/// Whether what a load gives for lanes that its mask leaves out can change nothing: it goes only
/// through elementwise ops to accesses whose own mask leaves these lanes out too, or to a select
/// that drops them. False where that is not known.
bool dropsMaskedLanes(tl::LoadOp load);

} // namespace blockscope::interpreter::flat
