// Binds trace sessions: what records the launches of a `with` block.
#include "core/trace/trace_writer.h"
#include "python/src/launch.h"
#include "python/src/memory_plan.h"
#include "sanitizer/check_session.h"
#include "sanitizer/trace_recorder.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct PyTraceSession {
  PyTraceSession(const std::string &path, bool values) {
    std::string error;
    std::unique_ptr<TraceWriter> writer = TraceWriter::create(path, error);
    if (!writer) {
      PyErr_SetString(PyExc_OSError, error.c_str());
      throw py::error_already_set();
    }
    recorder = std::make_unique<sanitizer::TraceRecorder>(
        std::move(writer), sanitizer::TraceOptions{.values = values});
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

/// The GPU that the next launches are predicted for: a target, a device and its peaks.
TraceGpu gpuOf(const std::string &target, const std::string &device, int warps,
               int64_t bytesPerSecond,
               const std::vector<std::tuple<std::string, std::string, int64_t>> &peaks) {
  TraceGpu gpu;
  gpu.target = {target, device, warps, bytesPerSecond};
  for (const auto &[unit, dtype, flops] : peaks)
    gpu.peaks.push_back({unit, dtype, flops});
  return gpu;
}

} // namespace

void bindTraceSession(py::module_ &module) {
  py::class_<PyTraceSession>(module, "TraceSession")
      .def(py::init<const std::string &, bool>(), py::arg("path"), py::arg("values") = false)
      .def("attach",
           [](py::object self, PyLaunch &launch) {
             launch.state.observers.add(*self.cast<PyTraceSession &>().recorder);
             launch.kept.push_back(std::move(self));
           })
      .def(
          "predict",
          [](PyTraceSession &self, const py::object &plan, const std::string &target,
             const std::string &device, int warps, int64_t bytesPerSecond,
             const std::vector<std::tuple<std::string, std::string, int64_t>> &peaks,
             bool dotsAreTf32) {
            MemoryPlan memory = memoryPlanOf(plan);
            memory.dotsAreTf32 = dotsAreTf32;
            self.recorder->predict(std::move(memory),
                                   gpuOf(target, device, warps, bytesPerSecond, peaks));
          },
          py::arg("plan"), py::kw_only(), py::arg("target"), py::arg("device"), py::arg("warps"),
          py::arg("bytes_per_second"), py::arg("peaks"), py::arg("dots_are_tf32"))
      .def("forget_prediction", [](PyTraceSession &self) { self.recorder->forgetPrediction(); })
      .def("add_findings",
           [](PyTraceSession &self, const sanitizer::CheckSession &checks) {
             self.recorder->addFindings(checks.collected());
           })
      .def("close", &PyTraceSession::close);
}

} // namespace blockscope::python
