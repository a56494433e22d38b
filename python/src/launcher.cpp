// Looks for the kernel of a launch, and launches it.
#include "python/src/launcher.h"

#include "python/src/bound_launch.h"
#include "python/src/made_once.h"
#include "python/src/used_values.h"

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// Attributes of a kernel that users set.
struct Names {
  PyObject *run = PyUnicode_InternFromString("run");
  PyObject *hooks = PyUnicode_InternFromString("pre_run_hooks");
  PyObject *debug = PyUnicode_InternFromString("debug");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

bool isTrue(PyObject *value) {
  if (!value || value == Py_None || value == Py_False)
    return false;
  if (PyList_CheckExact(value))
    return PyList_GET_SIZE(value) != 0;
  const int result = PyObject_IsTrue(value);
  if (result < 0)
    PyErr_Clear();
  return result != 0;
}

/// Reads a grid of one to three positive ints; false for anything else, and for what is too large.
bool readGrid(PyObject *grid, Place place, Grid &sizes) {
  const long most = place == Place::Gpu ? UINT16_MAX : INT32_MAX;
  sizes = {1, 1, 1};
  PyObject *const *items = &grid;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(grid) || PyList_CheckExact(grid)) {
    items = PySequence_Fast_ITEMS(grid);
    count = PySequence_Fast_GET_SIZE(grid);
  }
  if (count < 1 || count > 3)
    return false;
  for (Py_ssize_t axis = 0; axis < count; ++axis) {
    if (!PyLong_CheckExact(items[axis]))
      return false;
    const long size = PyLong_AsLong(items[axis]);
    if (size == -1 && PyErr_Occurred())
      PyErr_Clear();
    if (size < 1 || size > (axis == 0 ? INT32_MAX : most))
      return false;
    sizes[static_cast<size_t>(axis)] = static_cast<uint32_t>(size);
  }
  return true;
}

} // namespace

void Launcher::look() {
  const auto get = [&](PyObject *name) { return PyDict_GetItemWithError(attributes.ptr(), name); };
  looked_.hasRun = get(names().run) != nullptr;
  looked_.hooks = py::reinterpret_borrow<py::object>(get(names().hooks));
  looked_.isDebug = isTrue(get(names().debug));
  looked_.isKnown = areChangesTold_;
}

/// Whether nobody has hung anything around this kernel's launches, or any.
bool Launcher::isUsual() {
  if (!looked_.isKnown)
    look();
  return isUsable && surroundings().isPlain() && !looked_.hasRun && !isTrue(looked_.hooks.ptr());
}

/// Binds and classifies, and adds to the key what else the kernel depends on. False, without a
/// Python error, where Python has to look at the launch.
bool Launcher::takeKey(PyObject *const *arguments, size_t count, PyObject *keywords,
                       LaunchArguments &bound) {
  Surroundings &around = surroundings();
  if (!isUsual() || !bound.take(parameters, arguments, count, keywords))
    return false;
  const bool isOnGpu = bound.device >= 0;
  // A kernel without tensors runs on the current GPU, which may be another one next time.
  if (isOnGpu ? around.isWatched() || !around.hasActiveGpu()
              : bound.device == LaunchArguments::kNoTensor && around.hasActiveGpu())
    return false;
  const Place place = isOnGpu ? Place::Gpu : Place::Cpu;
  const auto settings = around.settingsOfLaunch(place);
  if (!settings) {
    PyErr_Clear();
    return false;
  }
  const bool isDebug = around.isDebug() || looked_.isDebug;
  bound.key.add(makeWord(WordKind::Settings, *settings << 1 | isDebug));
  bound.key.add(static_cast<uint64_t>(bound.device));
  return true;
}

Launcher::Kept Launcher::find(const LaunchKey &key, bool isFresh) {
  // Comparing objects of users may let other threads run, which change the table.
  const uint64_t clears = clears_;
  llvm::SmallVector<Kept, 2> candidates;
  if (last_ && last_->key.isIdentical(key.words())) {
    candidates.push_back(last_);
  } else {
    const auto [begin, end] = kept_.equal_range(key.hash());
    for (auto it = begin; it != end; ++it)
      candidates.push_back(it->second);
  }
  for (Kept &kept : candidates)
    if (kept->key.matches(key.words())) {
      if (isFresh && !areUsedValuesFresh(kept->used.ptr()))
        return nullptr;
      if (isFresh && clears == clears_)
        last_ = kept;
      return std::move(kept);
    }
  return nullptr;
}

/// A new dict of defaults, options and parameters, most of them without a value. Null with an
/// error.
py::object Launcher::namesFor(const LaunchArguments &bound) {
  const auto isOf = [](const auto &option, const py::object &name) {
    return option.first == name.ptr();
  };
  GridNames &known = gridNames_;
  if (!known.names || !std::equal(bound.options.begin(), bound.options.end(), known.options.begin(),
                                  known.options.end(), isOf)) {
    GridNames made;
    made.names = py::reinterpret_steal<py::object>(PyDict_Copy(surroundings().launchDefaults()));
    bool isGood = static_cast<bool>(made.names);
    const auto add = [&](PyObject *name) {
      isGood = isGood && PyDict_SetItem(made.names.ptr(), name, Py_None) == 0;
    };
    for (const auto &[name, value] : bound.options) {
      add(name);
      made.options.push_back(py::reinterpret_borrow<py::object>(name));
    }
    for (const LaunchParameter &parameter : parameters)
      add(parameter.name.ptr());
    if (!isGood)
      return {};
    known = std::move(made);
  }
  return py::reinterpret_steal<py::object>(PyDict_Copy(known.names.ptr()));
}

/// Calls a grid function with the arguments, options and defaults by name. Null with an error.
py::object Launcher::sizesFrom(PyObject *grid, const LaunchArguments &bound) {
  const py::object named = namesFor(bound);
  bool isGood = static_cast<bool>(named);
  for (const auto &[name, value] : bound.options)
    isGood = isGood && PyDict_SetItem(named.ptr(), name, value) == 0;
  for (size_t i = 0; i < parameters.size(); ++i)
    isGood = isGood && PyDict_SetItem(named.ptr(), parameters[i].name.ptr(), bound.values[i]) == 0;
  return isGood ? py::reinterpret_steal<py::object>(PyObject_CallOneArg(grid, named.ptr()))
                : py::object();
}

PyObject *Launcher::launch(PyObject *givenGrid, PyObject *const *arguments, size_t count,
                           PyObject *keywords) {
  LaunchArguments bound;
  PyObject *result = nullptr;
  auto grid = py::reinterpret_borrow<py::object>(givenGrid);
  const Outcome outcome = launchShort(grid, arguments, count, keywords, bound, result);
  if (outcome == Outcome::Launched || outcome == Outcome::Failed)
    return result;
  auto kernel = py::reinterpret_steal<py::object>(
      callGeneral(general.ptr(), grid.ptr(), arguments, count, keywords));
  if (kernel && outcome == Outcome::Unknown)
    keep(bound, kernel.ptr());
  return kernel.release().ptr();
}

Outcome Launcher::launchShort(py::object &grid, PyObject *const *arguments, size_t count,
                              PyObject *keywords, LaunchArguments &bound, PyObject *&result) {
  if (!takeKey(arguments, count, keywords, bound))
    return Outcome::Unusual;
  Kept kept = find(bound.key);
  if (!kept)
    return Outcome::Unknown;
  if (PyCallable_Check(grid.ptr())) {
    py::object sizes = sizesFrom(grid.ptr(), bound);
    // Python calls the function again, and says whose grid asks for what, or gives nothing.
    const bool asksInVain = !sizes && PyErr_ExceptionMatches(PyExc_KeyError) != 0;
    if (asksInVain)
      PyErr_Clear();
    if (asksInVain || (sizes && sizes.is_none()))
      return Outcome::Unusual;
    if (!sizes)
      return Outcome::Failed;
    grid = std::move(sizes);
    // The function may have launched kernels and changed what they read.
    kept = find(bound.key);
    if (!kept)
      return Outcome::Unusual;
  }
  Grid size;
  if (!readGrid(grid.ptr(), kept->way->place(), size))
    return Outcome::Unusual;
  ++shortLaunches; // also one that throws
  const Outcome outcome = kept->way->launch(size, bound);
  if (outcome == Outcome::Unusual)
    --shortLaunches;
  if (outcome == Outcome::Launched)
    result = Py_NewRef(kept->kernel.ptr());
  return outcome;
}

void Launcher::keep(const LaunchArguments &bound, PyObject *kernel) {
  const py::object object = py::reinterpret_borrow<py::object>(kernel);
  // None: a kernel that was stepped. What takes the place of launches may give anything.
  if (!py::hasattr(object, "short_way"))
    return;
  const py::object way = object.attr("short_way")(bound.device);
  if (way.is_none())
    return;
  auto kept = llvm::makeIntrusiveRefCnt<KeptKernel>(bound.key);
  kept->kernel = object;
  kept->used = object.attr("used_values");
  kept->way = way.cast<std::shared_ptr<ShortWay>>();
  const Place place = bound.device >= 0 ? Place::Gpu : Place::Cpu;
  if (kept->way->place() != place || kept->way->argumentCount() != bound.runTime.size())
    return;
  const uint64_t hash = kept->key.hash();
  const Kept stale = find(bound.key, /*isFresh=*/false), last = std::exchange(last_, kept);
  if (stale)
    for (auto [it, end] = kept_.equal_range(hash); it != end; ++it)
      if (it->second == stale) {
        it->second = std::move(kept);
        return;
      }
  kept_.emplace(hash, std::move(kept));
}

int Launcher::traverse(visitproc visit, void *arg) const {
  Py_VISIT(general.ptr());
  Py_VISIT(attributes.ptr());
  for (const LaunchParameter &parameter : parameters)
    Py_VISIT(parameter.defaultValue.ptr());
  Py_VISIT(gridNames_.names.ptr());
  Py_VISIT(looked_.hooks.ptr());
  for (const auto &[hash, kept] : kept_) {
    // One that is being launched is not the launcher's alone: its references are not all here.
    const unsigned own = kept == last_ ? 2 : 1;
    if (kept->UseCount() != own || kept->way.use_count() != 1)
      continue;
    for (const KeyWord &word : kept->key.words())
      Py_VISIT(word.object);
    Py_VISIT(kept->kernel.ptr());
    Py_VISIT(kept->used.ptr());
    if (const int result = kept->way->traverse(visit, arg))
      return result;
  }
  return 0;
}

} // namespace blockscope::python
