// What keys do in a comparison and in the list of a folder.
#pragma once

#include "viz/model/commands.h"
#include "viz/model/comparison.h"
#include "viz/model/trace_folder.h"

namespace blockscope::viz {

/// Carries a command out in a comparison: zoom, slice, cell and program are those of both runs.
void apply(Command command, const Comparison &comparison, CompareView &view);

/// What is chosen in a folder.
struct FolderView {
  size_t row = 0;
  Selection shared; ///< look, help, wish and notice
};
void apply(Command command, const TraceFolder &folder, FolderView &view);

/// Takes over what a panel of one run has changed: cell, zoom, slice, program.
void takeOver(const Selection &from, CompareView &view);

} // namespace blockscope::viz
