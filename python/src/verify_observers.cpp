// Binds the observers of `verify`: who wrote an element, and how far rounding errors reach.
#include "sanitizer/last_writer.h"
#include "sanitizer/rounding_noise.h"

#include "python/src/launch.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

template <typename Watcher> void attach(py::object self, PyLaunch &launch) {
  launch.state.observers.add(self.cast<Watcher &>());
  launch.kept.push_back(std::move(self));
}

} // namespace

void bindVerifyObservers(py::module_ &module) {
  using sanitizer::RoundingNoise;
  py::class_<RoundingNoise>(module, "RoundingNoise")
      .def(py::init([](uint64_t seed, bool hasAtomics, double amplification) {
             return std::make_unique<RoundingNoise>(
                 RoundingNoise::Options{seed, amplification, hasAtomics});
           }),
           py::arg("seed"), py::arg("has_atomics"), py::arg("amplification") = 1.0)
      .def("attach", &attach<RoundingNoise>);
  py::class_<sanitizer::LastWriter>(module, "LastWriter")
      .def(py::init<uint64_t>())
      .def("attach", &attach<sanitizer::LastWriter>)
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
