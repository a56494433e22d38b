// Binds check sessions: what watches the launches of a `with` block.
#include "python/src/findings.h"
#include "python/src/launch.h"
#include "sanitizer/check_session.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

sanitizer::CheckOptions optionsFrom(const py::dict &options) {
  sanitizer::CheckOptions result;
  for (const auto &[key, value] : options) {
    const auto name = key.cast<std::string>();
    if (name == "checks") {
      for (const auto &check : value.cast<std::vector<std::string>>())
        (check == "asan" ? result.asan : result.tsan) = true;
    } else if (name == "bounds") {
      result.checkViews = value.cast<std::string>() == "view";
    } else if (name == "max_findings") {
      result.maxFindings = value.cast<size_t>();
    } else if (name == "stop_at_first") {
      result.stopAtFirst = value.cast<bool>();
    } else {
      throw py::type_error("unknown option '" + name + "' of a check");
    }
  }
  return result;
}

} // namespace

void bindSessions(py::module_ &module) {
  py::class_<sanitizer::CheckSession>(module, "CheckSession")
      .def(py::init([](const py::dict &options) {
        return std::make_unique<sanitizer::CheckSession>(optionsFrom(options));
      }))
      .def("attach",
           [](py::object self, PyLaunch &launch) {
             self.cast<sanitizer::CheckSession &>().watch(launch.state);
             launch.kept.push_back(std::move(self));
           })
      .def("findings",
           [](const sanitizer::CheckSession &self) { return findingDicts(self.findings()); })
      .def("report_text", &sanitizer::CheckSession::reportText, py::arg("color") = false)
      .def("report_json", &sanitizer::CheckSession::reportJson)
      .def("error_count", &sanitizer::CheckSession::errorCount);
}

} // namespace blockscope::python
