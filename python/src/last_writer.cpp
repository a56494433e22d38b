// Binds the observer that finds who wrote an element.
#include "sanitizer/last_writer.h"

#include "python/src/launch.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

void bindLastWriter(py::module_ &module) {
  py::class_<sanitizer::LastWriter>(module, "LastWriter")
      .def(py::init<uint64_t>())
      .def("attach",
           [](py::object self, PyLaunch &launch) {
             launch.state.observers.add(self.cast<sanitizer::LastWriter &>());
             launch.kept.push_back(std::move(self));
           })
      .def("found", [](const sanitizer::LastWriter &self) -> py::object {
        if (!self.found())
          return py::none();
        py::dict result;
        result["program"] = py::tuple(py::cast(self.found()->program));
        result["op"] = self.found()->op;
        result["file"] = self.found()->location.file;
        result["line"] = self.found()->location.line;
        return result;
      });
}

} // namespace blockscope::python
