// Binds core/settings.h.
#pragma once

#include <pybind11/pybind11.h>

namespace blockscope::python {

/// `settings()`: a list of `SettingInfo`, one for each row of the table.
void bindSettings(pybind11::module_ &module);

} // namespace blockscope::python
