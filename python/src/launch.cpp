// Binds launches: arguments with exact extents, running a flat program, errors of a run.
#include "python/src/launch.h"

#include "core/numeric/scalar.h"
#include "core/report.h"
#include "interpreter/launch.h"
#include "interpreter/progress.h"
#include "interpreter/residency.h"
#include "python/src/findings.h"
#include "python/src/python_lock.h"
#include "python/src/tensor.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

int64_t nextLaunch = 0; ///< guarded by Python's lock

/// As Python's print: nothing where sys.stdout is None.
void printToPython(llvm::StringRef text) {
  const py::object out = py::module_::import("sys").attr("stdout");
  if (!out.is_none())
    out.attr("write")(py::str(text.data(), text.size()));
}

/// Asks Python which live tensor holds a host address that the kernel loaded from memory. `tensors`
/// is what is alive; it is looked up once a launch, at the first such address.
std::optional<interpreter::Allocation> resolveHostAddress(uint64_t address, py::object &tensors) {
  if (!tensors) {
    py::object made =
        py::module_::import("blockscope.runtime.memory.live_tensors").attr("LiveTensors")();
    if (!tensors) // another worker may have made it meanwhile
      tensors = std::move(made);
  }
  py::object found = tensors.attr("find")(address);
  if (found.is_none())
    return std::nullopt;
  return makeAllocation(
      found.attr("owner_name").cast<std::string>(), found.attr("dtype").cast<std::string>(),
      found.attr("pointer").cast<uint64_t>(), found.attr("storage").cast<uint64_t>(),
      found.attr("storage_bytes").cast<int64_t>(), found.attr("shape").cast<std::vector<int64_t>>(),
      found.attr("strides").cast<std::vector<int64_t>>(),
      found.attr("element_bytes").cast<int64_t>(), found.attr("read_only").cast<bool>());
}

/// Returns the bits of a number as a kernel argument of `type`.
///
/// Errors: OverflowError for an integer outside the type's range.
uint64_t scalarBits(const Type &type, const py::object &value) {
  alignas(8) std::byte element[8] = {};
  if (type.isFloating()) {
    numeric::writeDouble(type.dtype, py::float_(value), element);
  } else {
    const int bits = bitWidth(type.dtype);
    const py::object low = py::int_(0), one = py::int_(1);
    const py::object span = one << py::int_(isSigned(type.dtype) ? bits - 1 : bits);
    if (value >= span || value < (isSigned(type.dtype) ? py::object(-span) : low)) {
      PyErr_SetString(PyExc_OverflowError,
                      (py::str(value).cast<std::string>() + " does not fit " + type.str()).c_str());
      throw py::error_already_set();
    }
    const py::object wrapped = value & ((one << py::int_(64)) - one);
    numeric::writeInt(type.dtype, static_cast<int64_t>(wrapped.cast<uint64_t>()), element);
  }
  uint64_t result = 0;
  std::memcpy(&result, element, sizeof(result));
  return result;
}

std::string floatText(DType dtype, double value) {
  const std::string text = numeric::shortestText(value, dtype == DType::Fp64);
  return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

/// Says with what a launch was made that nothing has watched. Errors: it stays unknown.
void describeLaunch(const PyLaunch &launch, std::vector<Finding> &findings) {
  if (!launch.describe)
    return;
  try {
    const TextPairs parameters = launch.describe();
    for (Finding &finding : findings)
      if (finding.launch)
        finding.launch->metaParameters = parameters;
  } catch (py::error_already_set &error) {
    error.discard_as_unraisable("the text of an error");
  }
}

/// Throws blockscope.errors.SanitizerError with these findings, if there are any.
void throwErrors(const PyLaunch &launch, std::vector<Finding> findings) {
  if (findings.empty())
    return;
  describeLaunch(launch, findings);
  py::object type = py::module_::import("blockscope.errors").attr("SanitizerError");
  const py::object finding = py::module_::import("blockscope.checks").attr("Finding");
  py::list shown;
  for (const py::handle data : findingDicts(findings))
    shown.append(finding(data));
  py::object error = type(findingsAsText(findings, /*color=*/false), shown);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

/// Calls `function` so that neither it nor what it calls shows up in the traceback of an error: a
/// C++ function leaves no frame, and blockscope.frontend.tracebacks drops those of the package.
PyObject *callForUser(PyObject *, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "call_for_user got no function");
    return nullptr;
  }
  const ActiveCall call;
  PyObject *result =
      PyObject_Vectorcall(arguments[0], arguments + 1, static_cast<size_t>(count - 1), names);
  if (result)
    return result;
  py::error_already_set error;
  try {
    // What C raises outside of every Python function has none.
    const py::object raised = error.trace() ? py::object(error.trace()) : py::none();
    const py::object trace = py::module_::import("blockscope.frontend.tracebacks")
                                 .attr("users_frames")(error.value(), raised);
    PyException_SetTraceback(error.value().ptr(), trace.ptr());
    PyErr_Restore(error.type().inc_ref().ptr(), error.value().inc_ref().ptr(),
                  trace.is_none() ? nullptr : trace.inc_ref().ptr());
  } catch (py::error_already_set &other) {
    other.restore();
  }
  return nullptr;
}

PyMethodDef callForUserMethods[] = {
    {"call_for_user", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&callForUser)),
     METH_FASTCALL | METH_KEYWORDS,
     "call_for_user(function, *args, **kwargs): the function's result; an exception has the user's "
     "frames only."},
    {}};

/// Runs Python's signal handlers, which raise KeyboardInterrupt for Ctrl-C.
void runSignalHandlers() {
  if (PyErr_CheckSignals() != 0)
    throw py::error_already_set();
}

} // namespace

std::string scalarText(DType dtype, uint64_t bits) {
  if (isFloating(dtype))
    return floatText(dtype, numeric::readAsDouble(dtype, &bits));
  const int64_t value = numeric::readAsInt(dtype, &bits);
  if (dtype == DType::Int1)
    return value ? "True" : "False";
  return isSigned(dtype) ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value));
}

interpreter::Allocation makeAllocation(std::string name, std::string dtype, uint64_t view,
                                       uint64_t storage, int64_t storageBytes,
                                       std::vector<int64_t> shape, std::vector<int64_t> strides,
                                       int64_t elementBytes, bool readOnly, uint64_t address) {
  interpreter::Allocation allocation;
  allocation.info.name = std::move(name);
  allocation.info.dtype = std::move(dtype);
  allocation.info.shape = std::move(shape);
  allocation.info.strides = std::move(strides);
  allocation.info.elementBytes = elementBytes;
  allocation.info.storageBytes = storageBytes;
  allocation.info.storageOffsetBytes = static_cast<int64_t>(view - storage);
  allocation.view = reinterpret_cast<std::byte *>(view);
  allocation.storage = reinterpret_cast<std::byte *>(storage);
  allocation.storageBytes = storageBytes;
  allocation.readOnly = readOnly;
  allocation.address = address;
  return allocation;
}

std::unique_ptr<PyLaunch> openLaunch(std::string kernel, std::array<int32_t, 3> grid,
                                     TextPairs metaParameters, bool asserts,
                                     std::function<TextPairs()> describe) {
  auto launch = std::make_unique<PyLaunch>();
  interpreter::LaunchInfo &info = launch->state.info;
  info.kernel = std::move(kernel);
  info.grid = grid;
  info.metaParameters = std::move(metaParameters);
  info.launchIndex = nextLaunch++;
  info.memory = &launch->state.memory;
  launch->state.assertsEnabled = asserts;
  launch->describe = std::move(describe);
  // The launch owns its state, which owns these.
  launch->state.print = [launch = launch.get()](llvm::StringRef text) {
    launch->callbackErrors.call(launch->state, [&] { printToPython(text); });
  };
  launch->state.memory.setHostResolver(
      [launch = launch.get(), tensors = py::object()](uint64_t address) mutable {
        std::optional<interpreter::Allocation> found;
        launch->callbackErrors.call(launch->state,
                                    [&] { found = resolveHostAddress(address, tensors); });
        return found;
      });
  return launch;
}

void runProgram(PyLaunch &launch, const interpreter::FlatProgram &program,
                llvm::ArrayRef<uint64_t> bits) {
  llvm::SmallVector<interpreter::ArgumentValue, 32> arguments;
  for (uint64_t value : bits)
    arguments.push_back({value});
  interpreter::LaunchResult result;
  {
    const UnlockPython others;
    const auto poll = [&] {
      return isPythonEnding() || !launch.callbackErrors.call(launch.state, runSignalHandlers);
    };
    result = interpreter::launchFlat(program, launch.state, arguments, poll);
  }
  launch.callbackErrors.rethrow();
  if (!result.failure.empty())
    throw std::runtime_error("kernel '" + launch.state.info.kernel + "': " + result.failure);
  throwErrors(launch, std::move(result.errors));
}

void throwLaunchErrors(PyLaunch &launch) {
  launch.callbackErrors.rethrow();
  throwErrors(launch, launch.state.takeErrors());
}

void answerResidency(PyLaunch &launch, py::function answer) {
  launch.kept.push_back(answer);
  launch.state.info.askResidency = [answer =
                                        answer.ptr()]() -> std::optional<interpreter::Residency> {
    const LockPython lock;
    try {
      const py::object said = py::reinterpret_borrow<py::object>(answer)();
      if (said.is_none())
        return std::nullopt;
      const auto [held, reason] = said.cast<std::pair<int64_t, std::string>>();
      return interpreter::Residency{held * interpreter::kMultiprocessors, reason};
    } catch (py::error_already_set &error) {
      error.discard_as_unraisable("how many programs a GPU holds");
      return std::nullopt;
    }
  };
}

void bindLaunch(py::module_ &module) {
  module.attr("multiprocessors") = interpreter::kMultiprocessors;
  module.def("scalar_bits", &scalarBits);
  module.def("scalar_text",
             [](const Type &type, uint64_t bits) { return scalarText(type.dtype, bits); });
  // Launches that are replayed have the numbers that they had.
  module.def("next_launch_number", [] { return nextLaunch; });
  module.def("progress_of_launch", [] {
    const interpreter::Progress progress = interpreter::progressOfLaunch();
    return py::make_tuple(progress.begun, progress.programs);
  });
  module.def("number_next_launch", [](int64_t number) { nextLaunch = number; });
  if (PyModule_AddFunctions(module.ptr(), callForUserMethods) != 0)
    throw py::error_already_set();
  py::class_<PyLaunch>(module, "Launch")
      .def(py::init(&openLaunch))
      .def("add_tensor",
           [](PyLaunch &self, std::string name, std::string dtype, uint64_t view, uint64_t storage,
              int64_t storageBytes, std::vector<int64_t> shape, std::vector<int64_t> strides,
              int64_t elementBytes, bool readOnly, uint64_t address) {
             return self.state.memory
                 .add(makeAllocation(std::move(name), std::move(dtype), view, storage, storageBytes,
                                     std::move(shape), std::move(strides), elementBytes, readOnly,
                                     address))
                 .base;
           })
      .def_property_readonly(
          "needs_values",
          [](const PyLaunch &self) { return self.state.observers.plan().only.values; })
      .def_property_readonly(
          "needs_claims",
          [](const PyLaunch &self) { return self.state.observers.plan().only.claims; })
      .def_property_readonly(
          "needs_program",
          [](const PyLaunch &self) { return self.state.observers.plan().only.program; })
      .def("know_program",
           [](PyLaunch &self, py::object program, std::vector<uint64_t> bits) {
             self.arguments = std::move(bits);
             interpreter::knowProgram(program.cast<const interpreter::FlatProgram &>(), self.state,
                                      self.arguments);
             self.kept.push_back(std::move(program));
           })
      .def("answer_residency",
           [](PyLaunch &self, py::function answer) { answerResidency(self, std::move(answer)); })
      .def("run", [](PyLaunch &self, const interpreter::FlatProgram &program,
                     const std::vector<uint64_t> &bits) { runProgram(self, program, bits); });
}

} // namespace blockscope::python
