// Binds trace sessions: what records the launches of a `with` block.
#include "core/trace/trace_writer.h"
#include "python/src/launch.h"
#include "sanitizer/check_session.h"
#include "sanitizer/trace_recorder.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct PyTraceSession {
  explicit PyTraceSession(const std::string &path) {
    std::string error;
    std::unique_ptr<TraceWriter> writer = TraceWriter::create(path, error);
    if (!writer) {
      PyErr_SetString(PyExc_OSError, error.c_str());
      throw py::error_already_set();
    }
    recorder = std::make_unique<sanitizer::TraceRecorder>(std::move(writer));
  }

  void close() {
    if (isClosed)
      return;
    isClosed = true;
    if (recorder->close())
      return;
    PyErr_SetString(PyExc_OSError, recorder->error().c_str());
    throw py::error_already_set();
  }

  std::unique_ptr<sanitizer::TraceRecorder> recorder;
  bool isClosed = false;
};

} // namespace

void bindTraceSession(py::module_ &module) {
  py::class_<PyTraceSession>(module, "TraceSession")
      .def(py::init<const std::string &>())
      .def("attach",
           [](py::object self, PyLaunch &launch) {
             launch.state.observers.add(*self.cast<PyTraceSession &>().recorder);
             launch.kept.push_back(std::move(self));
           })
      .def("add_findings",
           [](PyTraceSession &self, const sanitizer::CheckSession &checks) {
             self.recorder->addFindings(checks.collected());
           })
      .def("close", &PyTraceSession::close);
}

} // namespace blockscope::python
