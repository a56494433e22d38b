// What a kernel read from outside of itself while it was compiled, and whether that is as it was.
#pragma once

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// Returns a record of a value that was read: from a dict (a module's variables), from a cell (a
/// variable of the function around), or as an attribute of anything else.
///
/// The record is a tuple, so that Python's garbage collector sees what it holds.
pybind11::tuple recordUsedValue(pybind11::object owner, pybind11::object name,
                                pybind11::object value);

/// Whether all values of a list of records have the same type and bits now, and functions are the
/// same objects. Never leaves an error: what cannot be looked at has changed.
bool areUsedValuesFresh(PyObject *records);

void bindUsedValues(pybind11::module_ &module);

} // namespace blockscope::python
