// Binds step mode: a step emitter for one launch, program after program.
#include "interpreter/step_emitter.h"
#include "python/src/current_emitter.h"
#include "python/src/launch.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope {

namespace {

using Place = std::tuple<std::string, int, int, std::string>;

/// Asks Python where the stepped kernel is: innermost call first.
SourceLocation locationFrom(const py::object &provider) {
  py::gil_scoped_acquire gil;
  const auto places = provider().cast<std::vector<Place>>();
  std::shared_ptr<const SourceLocation> caller;
  SourceLocation location;
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    location = SourceLocation();
    std::tie(location.file, location.line, location.column, location.function) = *place;
    location.caller = caller;
    caller = std::make_shared<SourceLocation>(location);
  }
  return location;
}

struct PyStepRunner {
  PyStepRunner(PyLaunch &launch, py::object provider)
      : launch(launch), emitter(launch.state, [provider] { return locationFrom(provider); }) {}

  PyLaunch &launch;
  StepEmitter emitter;
  std::unique_ptr<EmitterScope> scope;
};

} // namespace

void bindStepRunner(py::module_ &module) {
  py::class_<PyStepRunner>(module, "StepRunner")
      .def(py::init<PyLaunch &, py::object>(), py::keep_alive<1, 2>())
      .def(
          "__enter__",
          [](PyStepRunner &self) -> PyStepRunner & {
            self.scope = std::make_unique<EmitterScope>(self.emitter, [&self] {
              if (self.launch.state.stop)
                throwLaunchErrors(self.launch);
            });
            self.emitter.beginLaunch();
            return self;
          },
          py::return_value_policy::reference)
      .def("__exit__",
           [](PyStepRunner &self, const py::args &) {
             self.scope.reset();
             self.emitter.endLaunch();
           })
      .def("value", [](PyStepRunner &self, const Type &type,
                       uint64_t bits) { return self.emitter.scalarFromBits(type, bits); })
      .def("begin_program",
           [](PyStepRunner &self, int x, int y, int z) { self.emitter.beginProgram({x, y, z}); })
      .def("end_program",
           [](PyStepRunner &self) {
             self.emitter.endProgram();
             throwLaunchErrors(self.launch);
           })
      .def("finish", [](PyStepRunner &self) { throwLaunchErrors(self.launch); });
}

} // namespace blockscope
