// `kernel.run(...)`: launches of a compiled kernel by code that torch.compile generates.
#include "python/src/launcher.h"
#include "python/src/python_lock.h"

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// Grid, stream, function, metadata, metadata of the launch, two hooks: what comes before the
/// kernel's arguments.
constexpr size_t kRunnerArguments = 9;

class RepeatedLaunch {
public:
  RepeatedLaunch(py::object launcher, const py::list &constants, const py::dict &options,
                 py::object general)
      : launcher_(std::move(launcher)), general_(std::move(general)) {
    for (const py::handle constant : constants)
      constants_.push_back(constant.is_none()
                               ? py::object()
                               : py::object(py::reinterpret_borrow<py::tuple>(constant)[0]));
    py::list names;
    for (const auto &[name, value] : options) {
      names.append(name);
      options_.push_back(py::reinterpret_borrow<py::object>(value));
    }
    optionNames_ = py::tuple(names);
  }

  void run(const py::args &given) const {
    if (!goesShortWay(given))
      general_(*given);
  }

private:
  bool goesShortWay(const py::args &given) const {
    Launcher *launcher = launcherFrom(launcher_.ptr());
    if (!launcher || given.size() < kRunnerArguments)
      return false;
    const ActiveCall call;
    llvm::SmallVector<PyObject *, 32> all;
    takeArguments(given, all);
    const size_t count = all.size();
    for (const py::object &option : options_)
      all.push_back(option.ptr());
    py::object grid = py::make_tuple(given[0], given[1], given[2]);
    LaunchArguments taken;
    PyObject *kernel = nullptr;
    const Outcome outcome =
        launcher->launchShort(grid, all.data(), count, optionNames_.ptr(), taken, kernel);
    if (outcome == Outcome::Failed)
      throw py::error_already_set();
    Py_XDECREF(kernel);
    return outcome == Outcome::Launched;
  }

  /// Those of the kernel, with the constants at their places if they were left out.
  void takeArguments(const py::args &given, llvm::SmallVectorImpl<PyObject *> &all) const {
    PyObject *const *next = PySequence_Fast_ITEMS(given.ptr()) + kRunnerArguments;
    PyObject *const *end = PySequence_Fast_ITEMS(given.ptr()) + given.size();
    const auto left = static_cast<size_t>(end - next);
    const auto missing = static_cast<size_t>(
        llvm::count_if(constants_, [](const py::object &constant) { return !constant; }));
    if (left != missing) {
      all.append(next, end);
      return;
    }
    for (const py::object &constant : constants_)
      all.push_back(constant ? constant.ptr() : *next++);
  }

  py::object launcher_;
  std::vector<py::object> constants_; ///< one per parameter, null where it is none
  std::vector<py::object> options_;
  py::tuple optionNames_;
  py::object general_; ///< a function of the same arguments
};

} // namespace

void bindRepeatedLaunch(py::module_ &module) {
  py::class_<RepeatedLaunch>(module, "RepeatedLaunch")
      .def(py::init<py::object, py::list, py::dict, py::object>(), py::arg("launcher"),
           py::arg("constants"), py::arg("options"), py::arg("general"),
           "Launches one kernel again. `constants` has a tuple of one constant, or None, for each "
           "parameter; `options` are the launch's. What the launcher does not know is launched by "
           "`general`, with the same arguments.")
      .def("__call__", &RepeatedLaunch::run,
           "(grid_x, grid_y, grid_z, stream, function, metadata, launch_metadata, enter_hook, "
           "exit_hook, *args); `args` with all constants or without them.");
}

} // namespace blockscope::python
