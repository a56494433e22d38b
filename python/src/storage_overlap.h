// Which arguments of a launch share memory.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>
#include <vector>

namespace blockscope::python {

/// Pairs of a kernel's run-time arguments, by number.
using ArgumentPairs = std::vector<std::pair<int, int>>;

/// Returns the pairs of which the storages of both arguments may have a byte in common: a kernel
/// may reach all of a storage by one of its views. `owners` has, for each run-time argument, the
/// torch tensor, or a descriptor of one; of anything else it is not known where it ends.
///
/// Errors: none; Python's lock must be held.
ArgumentPairs overlapping(const ArgumentPairs &pairs, PyObject *const *owners, size_t count);

void bindStorageOverlap(pybind11::module_ &module);

} // namespace blockscope::python
