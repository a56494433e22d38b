// In place of trace_session.cpp in a build without HDF5 (BLK_TRACE=OFF): says so.
#include "python/src/launch.h"

#include <string>

namespace py = pybind11;

namespace blockscope::python {

void bindTraceSession(py::module_ &module) {
  module.def("TraceSession", [](const std::string &path, const py::kwargs &) {
    const std::string text = "trace '" + path +
                             "' cannot be written: this build of blockscope has no HDF5 "
                             "(BLK_TRACE=OFF), so it records no traces";
    PyErr_SetString(PyExc_OSError, text.c_str());
    throw py::error_already_set();
  });
}

} // namespace blockscope::python
