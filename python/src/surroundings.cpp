// Keeps what Python has said of launches, and notices when the environment changes.
#include "python/src/surroundings.h"

#include "python/src/launch_key.h"
#include "python/src/made_once.h"

#include <algorithm>
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

/// Whether the first variables are the known ones. Launches look at all of them, and there may be a
/// hundred, so they are compared a page at a time, without a look at where the table ends: one that
/// ends before is not the known one, and what stands behind it on the page makes no difference.
__attribute__((no_sanitize("address"))) bool beginsWith(char *const *now,
                                                        const std::vector<char *> &known) {
  constexpr size_t kPage = 4096;
  char *const *before = known.data();
  for (size_t left = known.size(); left != 0;) {
    const size_t onPage =
        std::max<size_t>(1, (kPage - reinterpret_cast<uintptr_t>(now) % kPage) / sizeof(char *));
    const size_t count = std::min(left, onPage);
    uintptr_t difference = 0;
    for (size_t i = 0; i < count; ++i)
      difference |= reinterpret_cast<uintptr_t>(now[i]) ^ reinterpret_cast<uintptr_t>(before[i]);
    if (difference != 0)
      return false;
    now += count;
    before += count;
    left -= count;
  }
  return true;
}

/// Whether the environment is another one, in which case `known` becomes it.
///
/// setenv, which os.environ calls, puts another string into the table of variables, and glibc frees
/// none of them: the same addresses are the same variables with the same values.
bool takeEnvironment(std::vector<char *> &known) {
  size_t count = 0;
  if (environ) {
    if (beginsWith(environ, known) && !environ[known.size()])
      return false;
    while (environ[count])
      ++count;
  } else if (known.empty()) {
    return false;
  }
  known.assign(environ, environ + count);
  return true;
}

/// Takes a result. One that cannot be looked at is true: the general way words the error.
bool isTrueAsFarAsKnown(PyObject *result) {
  const auto value = py::reinterpret_steal<py::object>(result);
  const bool isTrue = !value || PyObject_IsTrue(value.ptr()) != 0;
  PyErr_Clear();
  return isTrue;
}

/// The list of a chain of hooks, else null.
py::object hooksIn(const py::object &hook, const py::object &chain) {
  py::object calls;
  if (Py_TYPE(hook.ptr()) == reinterpret_cast<PyTypeObject *>(chain.ptr()))
    calls = py::reinterpret_steal<py::object>(PyObject_GetAttr(hook.ptr(), names().calls));
  return calls && PyList_CheckExact(calls.ptr()) ? calls : py::object();
}

Place placeNamed(const std::string &name) {
  if (name != "cpu" && name != "gpu")
    throw py::value_error("'" + name + "' is no place, expected 'cpu' or 'gpu'");
  return name == "cpu" ? Place::Cpu : Place::Gpu;
}

} // namespace

void Surroundings::look() {
  if (takeEnvironment(environment_))
    ++generation_;
}

Surroundings::Knobs Surroundings::readKnobs() const {
  Knobs knobs;
  knobs.generation = generation_; // reading lets other threads run: it may be over then
  knobs.steps = isTrueAsFarAsKnown(PyObject_CallNoArgs(handed_.steps.ptr()));
  const auto group =
      py::reinterpret_steal<py::object>(PyObject_GetAttr(handed_.knobs.ptr(), names().runtime));
  if (!group) {
    PyErr_Clear();
    knobs.isHooked = true;
    return knobs;
  }
  knobs.isDebug = isTrueAsFarAsKnown(PyObject_GetAttr(group.ptr(), names().debug));
  for (size_t i = 0; i < knobs.chains.size(); ++i) {
    const auto hook = py::reinterpret_steal<py::object>(
        PyObject_GetAttr(group.ptr(), i == 0 ? names().enter : names().leave));
    if (hook)
      knobs.chains[i] = hooksIn(hook, handed_.hookChain);
    PyErr_Clear();
    knobs.isHooked |= !knobs.chains[i] && !hook.is_none();
  }
  return knobs;
}

bool Surroundings::isPlain() {
  if (holds_ != 0 || !handed_.knobs)
    return false;
  look();
  if (knobs_.generation != generation_)
    knobs_ = readKnobs();
  if (knobs_.steps || knobs_.isHooked)
    return false;
  for (const py::object &chain : knobs_.chains)
    if (chain && PyList_GET_SIZE(chain.ptr()) != 0)
      return false;
  return true;
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
  look();
  return settingsOfLaunch(place);
}

std::optional<uint64_t> Surroundings::readSettings(Place place) {
  const uint64_t now = generation_;
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
  settings_[static_cast<size_t>(place)] = {now, index}; // it may be over: others have run meanwhile
  return index;
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
              Binding, py::module_ knobs, py::type hookChain, py::function steps,
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
          "debug, launch_enter_hook and launch_exit_hook are looked at; the class of hooks whose "
          "list 'calls' says whether there are any; and functions. All of them are asked again "
          "after settings_changed, also when another 'runtime' is there, or when the environment "
          "has changed. "
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
