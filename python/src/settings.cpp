// The table of environment variables for Python: `_core.settings()`.
#include "python/src/settings.h"

#include "core/settings.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

void bindSettings(py::module_ &module) {
  py::class_<SettingInfo>(module, "SettingInfo")
      .def_readonly("variable", &SettingInfo::variable)
      .def_readonly("default", &SettingInfo::defaultText)
      .def_readonly("help", &SettingInfo::help)
      .def_property_readonly("expected", &expectedOf)
      // None when the variable may not have this text.
      .def("value_of",
           [](const SettingInfo &info, const std::string &text) { return valueOf(info, text); });
  module.def("settings", [] { return settings().vec(); });
}

} // namespace blockscope::python
