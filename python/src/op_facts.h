// Binds core/op_facts.h.
#pragma once

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// `op_facts()`: a list of dicts, one for each row of the table; `named_combines()`: names.
void bindOpFacts(pybind11::module_ &module);

} // namespace blockscope::python
