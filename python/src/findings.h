// Findings as Python sees them, and Python's knowledge of source files for reports.
#pragma once

#include "core/finding.h"

#include "llvm/ADT/ArrayRef.h"

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// Returns a list with one dict a finding: the fields of its JSON.
pybind11::object findingDicts(llvm::ArrayRef<Finding> findings);

void bindFindings(pybind11::module_ &module);

} // namespace blockscope::python
