// Keeps what Python has said of launches, and notices when the environment changes.
#include "python/src/surroundings.h"

#include "python/src/launch_key.h"
#include "python/src/made_once.h"

#include <unistd.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct Names {
  PyObject *runtime = PyUnicode_InternFromString("runtime");
  PyObject *calls = PyUnicode_InternFromString("calls");
  PyObject *debug = PyUnicode_InternFromString("debug");
  PyObject *enter = PyUnicode_InternFromString("launch_enter_hook");
  PyObject *leave = PyUnicode_InternFromString("launch_exit_hook");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// Whether the environment is another one, in which case `known` becomes it.
///
/// setenv, which os.environ calls, puts another string into the table of variables, and glibc frees
/// none of them: the same addresses are the same variables with the same values.
bool takeEnvironment(std::vector<char *> &known) {
  size_t count = 0;
  if (environ) {
    while (environ[count] && count < known.size() && environ[count] == known[count])
      ++count;
    if (!environ[count] && count == known.size())
      return false;
    while (environ[count])
      ++count;
  } else if (known.empty()) {
    return false;
  }
  known.assign(environ, environ + count);
  return true;
}

Place placeNamed(const std::string &name) {
  if (name != "cpu" && name != "gpu")
    throw py::value_error("'" + name + "' is no place, expected 'cpu' or 'gpu'");
  return name == "cpu" ? Place::Cpu : Place::Gpu;
}

} // namespace

uint64_t Surroundings::generation() {
  if (takeEnvironment(environment_))
    ++generation_;
  return generation_;
}

bool Surroundings::steps() {
  const uint64_t now = generation();
  if (steps_.generation != now) {
    const auto value = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(handed_.steps.ptr()));
    const int result = value ? PyObject_IsTrue(value.ptr()) : -1;
    if (result < 0) {
      PyErr_Clear();
      return true; // the general way words the error
    }
    steps_.number = static_cast<uint64_t>(result);
    steps_.generation = now; // reading let other threads run: it may be over already
  }
  return steps_.number != 0;
}

/// A setting of `knobs.runtime` as it is now; null with an error.
py::object Surroundings::knob(PyObject *name) const {
  const auto group =
      py::reinterpret_steal<py::object>(PyObject_GetAttr(handed_.knobs.ptr(), names().runtime));
  return py::reinterpret_steal<py::object>(group ? PyObject_GetAttr(group.ptr(), name) : nullptr);
}

/// What cannot be looked at is true: the general way words the error.
bool Surroundings::isDebug() {
  const py::object value = knob(names().debug);
  const int result = value ? PyObject_IsTrue(value.ptr()) : -1;
  if (result < 0)
    PyErr_Clear();
  return result != 0;
}

/// Whether there is anything to call. A chain is asked for its list: it is a class of Python's,
/// whose own answer takes four times as long.
bool Surroundings::hasHook(PyObject *name) const {
  const py::object hook = knob(name);
  if (hook && Py_TYPE(hook.ptr()) == reinterpret_cast<PyTypeObject *>(handed_.hookChain.ptr())) {
    const auto calls =
        py::reinterpret_steal<py::object>(PyObject_GetAttr(hook.ptr(), names().calls));
    if (calls && PyList_CheckExact(calls.ptr()))
      return PyList_GET_SIZE(calls.ptr()) != 0;
  }
  PyErr_Clear();
  return !hook.is_none();
}

bool Surroundings::isPlain() {
  return holds_ == 0 && handed_.knobs && !steps() && !hasHook(names().enter) &&
         !hasHook(names().leave);
}

bool Surroundings::hasActiveGpu() {
  if (!gpuIsActive_) {
    // Making the default driver calls activateGpu.
    if (!py::reinterpret_steal<py::object>(PyObject_CallNoArgs(handed_.isGpuActive.ptr())))
      PyErr_Clear();
  }
  return gpuIsActive_.value_or(false);
}

std::optional<uint64_t> Surroundings::settings(Place place) {
  generation();
  return settingsOfLaunch(place);
}

std::optional<uint64_t> Surroundings::settingsOfLaunch(Place place) {
  Reading &settings = settings_[static_cast<size_t>(place)];
  const uint64_t now = generation_;
  if (settings.generation != now) {
    const py::object &reader = place == Place::Cpu ? handed_.cpuSettings : handed_.gpuSettings;
    const auto values = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(reader.ptr()));
    LaunchKey key;
    if (!values || !key.addExact(values.ptr()))
      return std::nullopt;
    size_t index = 0;
    while (index < known_.size() && !keyOf(known_[index]).matches(key.words()))
      ++index;
    if (index == known_.size())
      known_.push_back(makeKeyObject(key));
    settings.number = index;
    settings.generation = now; // reading let other threads run: it may be over already
  }
  return settings.number;
}

void Surroundings::configure(Handed handed) {
  handed_ = std::move(handed);
  settingsChanged();
}

Surroundings &surroundings() {
  static constinit MadeOnce<Surroundings> made;
  return made.get();
}

void bindSurroundings(py::module_ &module) {
  struct Binding {};
  py::class_<Binding>(module, "Surroundings")
      .def(
          "configure",
          [callForUser = py::object(module.attr("call_for_user"))](
              Binding, py::object knobs, py::type hookChain, py::function steps,
              py::function isGpuActive, py::function cpuSettings, py::function gpuSettings,
              py::function beginWatched, py::function endWatched, py::dict launchDefaults) {
            surroundings().configure(
                {std::move(knobs), std::move(hookChain), std::move(steps), std::move(isGpuActive),
                 std::move(cpuSettings), std::move(gpuSettings), std::move(beginWatched),
                 std::move(endWatched), std::move(launchDefaults), callForUser});
          },
          py::kw_only(), py::arg("knobs"), py::arg("hook_chain"), py::arg("steps"),
          py::arg("is_gpu_active"), py::arg("cpu_settings"), py::arg("gpu_settings"),
          py::arg("begin_watched"), py::arg("end_watched"), py::arg("launch_defaults"),
          "Hand over what the launcher asks: a module with an object 'runtime', whose "
          "debug, launch_enter_hook and launch_exit_hook are looked at in every launch; the class "
          "of hooks whose list 'calls' says whether there are any; and functions, which "
          "are asked again after settings_changed, or when the environment has changed. "
          "begin_watched(launch) gives what end_watched(watched, failed) takes; they are called "
          "around launches while any watch.")
      .def("settings_changed", [](Binding) { surroundings().settingsChanged(); })
      .def(
          "settings",
          [](Binding, const std::string &place) {
            const auto number = surroundings().settings(placeNamed(place));
            if (!number)
              throw py::error_already_set();
            return *number;
          },
          "The number of the settings that change the code of kernels for 'cpu' or 'gpu'.")
      .def("activate_gpu", [](Binding, bool isActive) { surroundings().activateGpu(isActive); })
      .def(
          "hold", [](Binding) { surroundings().hold(); },
          "Let all launches go the general way, until as many calls of release.")
      .def("release", [](Binding) { surroundings().release(); })
      .def(
          "watch", [](Binding, int sessions) { surroundings().watch(sessions); },
          "Say how many checks and traces are open.");
  module.attr("surroundings") = Binding{};
}

} // namespace blockscope::python
