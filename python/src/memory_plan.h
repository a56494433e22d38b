// A memory plan as plain lists, which the cache on disk can keep, and back.
#pragma once

#include "core/memory_plan.h"

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// (accesses, exchanges), each a list of tuples.
pybind11::tuple memoryPlanRows(const MemoryPlan &plan);

/// What `memoryPlanRows` gave, also as lists in place of tuples.
/// Errors: an exception of Python for anything else.
MemoryPlan memoryPlanOf(const pybind11::object &rows);

} // namespace blockscope::python
