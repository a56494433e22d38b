// The short way from `kernel[grid](...)` to cuLaunchKernelEx, for kernels that ran before.
//
// `GpuLauncher` belongs to one JITFunction; `launcher.bind(grid)` gives a callable. A call computes
// the launch's key and launches what is stored for it. Whatever is unusual (a first launch, hooks,
// checks, step mode, CPU tensors, odd arguments, mistakes) goes the general way in Python,
// JITFunction._run, which decides and words all errors; when it comes back with a GPU kernel, that
// is stored. So the short way never decides anything that the general way has not decided before.
#include "python/src/gpu_driver.h"
#include "python/src/launch_key.h"
#include "python/src/made_once.h"
#include "python/src/python_lock.h"
#include "python/src/storage_overlap.h"

#include <pybind11/stl.h>
#include <structmember.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// A module variable that the kernel read while it was compiled.
struct UsedGlobal {
  py::dict values;
  py::object name, value;
};

/// One compiled kernel of a function, under one key.
struct Entry {
  std::vector<uint64_t> words;
  std::vector<py::object> objects; ///< null handles where the word has no constant
  int device = 0;
  py::object compiled; ///< blockscope.runtime.backends.cuda.kernel.CudaKernel
  const LoadedKernel *kernel = nullptr;
  ArgumentPairs disjoint; ///< arguments that must not overlap, else another kernel is launched
  std::vector<UsedGlobal> globals;
  py::object scratch; ///< a function of (grid, stream) that gives memory, or null
};

/// What the short way looks at on every launch, borrowed from modules that live as long as Python.
struct Surroundings {
  py::object driverHolder; ///< blockscope.driver.driver
  py::dict knobs, checks;  ///< the modules' variables
  py::object general;      ///< _core.call_for_user
};

const Surroundings &surroundings() {
  static constinit MadeOnce<Surroundings> made;
  return made.get([] {
    return Surroundings{py::module_::import("blockscope.driver").attr("driver"),
                        py::module_::import("blockscope.knobs").attr("__dict__"),
                        py::module_::import("blockscope.checks").attr("__dict__"),
                        py::module_::import("blockscope._core").attr("call_for_user")};
  });
}

PyObject *interned(const char *text) { return PyUnicode_InternFromString(text); }

struct Names {
  PyObject *runtime = interned("runtime"), *interpret = interned("interpret");
  PyObject *sessions = interned("_sessions"), *debug = interned("debug");
  PyObject *enter = interned("launch_enter_hook"), *leave = interned("launch_exit_hook");
  PyObject *hooks = interned("pre_run_hooks"), *run = interned("run");
  PyObject *grid = interned("grid"), *warmup = interned("warmup");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

// 1 while the active driver is CUDA's, 0 while it is not, -1 before Python was asked.
int gpuIsActive = -1;

/// Returns a borrowed entry of a dict, or null; never leaves an error.
PyObject *lookUp(PyObject *dict, PyObject *name) {
  PyObject *value = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
  if (!value)
    PyErr_Clear();
  return value;
}

bool isTrue(PyObject *value) {
  const int result = PyObject_IsTrue(value);
  if (result < 0)
    PyErr_Clear();
  return result != 0;
}

bool isTrueAttribute(PyObject *object, PyObject *name) {
  PyObject *value = PyObject_GetAttr(object, name);
  if (!value) {
    PyErr_Clear();
    return true;
  }
  const bool result = value != Py_None && isTrue(value);
  Py_DECREF(value);
  return result;
}

bool hasActiveGpu() {
  if (gpuIsActive < 0) {
    // Making the default driver tells activateGpu what it is.
    PyObject *active = PyObject_GetAttrString(surroundings().driverHolder.ptr(), "active");
    if (!active)
      PyErr_Clear();
    Py_XDECREF(active);
    if (gpuIsActive < 0)
      gpuIsActive = 0;
  }
  return gpuIsActive == 1;
}

/// Whether nothing watches or changes launches now. `isDebug` tells the setting that is in the key.
bool isPlainRun(PyObject *functionDict, bool &isDebug) {
  const char *interpret = std::getenv("TRITON_INTERPRET");
  if (interpret && *interpret && std::strcmp(interpret, "0") != 0)
    return false;
  const Surroundings &around = surroundings();
  PyObject *runtime = lookUp(around.knobs.ptr(), names().runtime);
  PyObject *sessions = lookUp(around.checks.ptr(), names().sessions);
  if (!runtime || !sessions || isTrue(sessions))
    return false;
  PyObject **own = _PyObject_GetDictPtr(runtime);
  PyObject *set = own && *own ? lookUp(*own, names().interpret) : nullptr;
  if (set && isTrue(set))
    return false;
  PyObject *hooks = lookUp(functionDict, names().hooks);
  if ((hooks && isTrue(hooks)) || lookUp(functionDict, names().run))
    return false;
  isDebug = isTrueAttribute(runtime, names().debug);
  return !isTrueAttribute(runtime, names().enter) && !isTrueAttribute(runtime, names().leave);
}

class GpuLauncher {
public:
  PyObject *function = nullptr;     ///< the JITFunction; it owns this
  PyObject *functionDict = nullptr; ///< its attributes
  PyObject *general = nullptr;      ///< its method _run
  std::vector<LaunchParameter> parameters;
  bool isUsable = false; ///< false for signatures that only Python binds

  const Entry *find(const LaunchKey &key, uint64_t hash) const;
  void remember(const LaunchKey &key, uint64_t hash, PyObject *compiled);
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

private:
  std::unordered_multimap<uint64_t, std::unique_ptr<Entry>> entries_;
};

bool matches(const Entry &entry, const LaunchKey &key) {
  if (entry.device != key.device || entry.words.size() != key.size ||
      std::memcmp(entry.words.data(), key.words.data(), key.size * sizeof(uint64_t)) != 0)
    return false;
  for (size_t i = 0; i < key.size; ++i)
    if (!isSameConstant(entry.objects[i].ptr(), key.objects[i]))
      return false;
  return true;
}

bool isFresh(const Entry &entry) {
  for (const UsedGlobal &used : entry.globals)
    if (lookUp(used.values.ptr(), used.name.ptr()) != used.value.ptr())
      return false;
  return true;
}

const Entry *GpuLauncher::find(const LaunchKey &key, uint64_t hash) const {
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (matches(*it->second, key))
      return isFresh(*it->second) ? it->second.get() : nullptr;
  return nullptr;
}

void GpuLauncher::remember(const LaunchKey &key, uint64_t hash, PyObject *compiled) {
  const py::handle object(compiled);
  // What the general way ran on the CPU, or has to look at on every launch, has no `short_way`.
  const py::object ask = py::getattr(object, "short_way", py::none());
  const py::object shortWay = ask.is_none() ? ask : ask(key.device);
  if (shortWay.is_none() || shortWay.attr("argument_count").cast<size_t>() != key.bitsCount)
    return;
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (matches(*it->second, key)) { // stale
      entries_.erase(it);
      break;
    }
  auto entry = std::make_unique<Entry>();
  entry->words.assign(key.words.begin(), key.words.begin() + key.size);
  for (size_t i = 0; i < key.size; ++i)
    entry->objects.push_back(py::reinterpret_borrow<py::object>(key.objects[i]));
  entry->device = key.device;
  entry->compiled = py::reinterpret_borrow<py::object>(object);
  const py::object handle = shortWay.attr("handle");
  entry->kernel = loadedKernelOf(handle.ptr());
  entry->disjoint = shortWay.attr("disjoint").cast<ArgumentPairs>();
  const py::object scratch = shortWay.attr("scratch");
  entry->scratch = scratch.is_none() ? py::object() : scratch;
  for (const py::handle used : shortWay.attr("used_globals")) {
    const auto tuple = py::reinterpret_borrow<py::tuple>(used);
    entry->globals.push_back({py::dict(tuple[0]), tuple[1], tuple[2]});
  }
  // A tensor-less kernel runs on the current device, which may be another one next time.
  if (entry->kernel && key.device >= 0)
    entries_.emplace(hash, std::move(entry));
}

/// Reads a grid of one to three positive ints that a GPU takes; false for anything else.
bool readGrid(PyObject *grid, std::array<uint32_t, 3> &sizes) {
  constexpr long kLimits[3] = {INT32_MAX, 65535, 65535};
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
    if (size < 1 || size > kLimits[axis])
      return false;
    sizes[static_cast<size_t>(axis)] = static_cast<uint32_t>(size);
  }
  return true;
}

/// Calls a grid function with the arguments, options and defaults by name. A new reference or null.
PyObject *callGrid(PyObject *grid, const GpuLauncher &launcher, const LaunchKey &key) {
  static constinit MadeOnce<py::object> defaults;
  PyObject *named = PyDict_Copy(
      defaults
          .get([]() -> py::object {
            return py::module_::import("blockscope.runtime.options").attr("LAUNCH_DEFAULTS");
          })
          .ptr());
  if (!named)
    return nullptr;
  for (size_t i = 0; i < key.optionCount; ++i)
    PyDict_SetItem(named, key.options[i].first, key.options[i].second);
  for (size_t i = 0; i < launcher.parameters.size(); ++i)
    PyDict_SetItem(named, launcher.parameters[i].name, key.values[i]);
  PyObject *result = PyObject_CallOneArg(grid, named);
  Py_DECREF(named);
  return result;
}

/// torch's current stream of a device.
bool currentStream(int device, uint64_t &stream) {
  PyObject *function = torchTypes().currentRawStream;
  stream = 0;
  if (!function)
    return true;
  PyObject *number = PyLong_FromLong(device);
  PyObject *result = PyObject_CallOneArg(function, number);
  Py_DECREF(number);
  if (!result)
    return false;
  stream = PyLong_AsUnsignedLongLongMask(result);
  Py_DECREF(result);
  return true;
}

bool launchEntry(const Entry &entry, const std::array<uint32_t, 3> &grid, LaunchKey &key) {
  // The entry may be replaced while Python's lock is not held.
  const LoadedKernel *kernel = entry.kernel;
  const py::object scratch = entry.scratch;
  if (!entry.disjoint.empty()) {
    const ArgumentPairs disjoint = entry.disjoint;
    if (mayOverlap(disjoint, key.owners.data(), key.bitsCount))
      kernel = carefulKernel(*kernel);
    if (!kernel)
      return false;
  }
  uint64_t stream = 0;
  if (!currentStream(kernel->device(), stream))
    return false;
  py::object memory;
  if (scratch) {
    memory = py::reinterpret_steal<py::object>(
        PyObject_CallFunction(scratch.ptr(), "((III)K)", grid[0], grid[1], grid[2], stream));
    PyObject *address = memory ? PyObject_CallMethod(memory.ptr(), "data_ptr", nullptr) : nullptr;
    if (!address)
      return false;
    key.addBits(PyLong_AsUnsignedLongLongMask(address));
    Py_DECREF(address);
  }
  return launchOnGpu(*kernel, grid, key.bits.data(), static_cast<int>(key.bitsCount), stream);
}

// -- the Python types --------------------------------------------------------------------------

struct LauncherObject {
  PyObject_HEAD GpuLauncher *launcher;
};

struct BoundObject {
  PyObject_HEAD vectorcallfunc call;
  LauncherObject *owner;
  PyObject *grid;
};

PyTypeObject *boundType = nullptr;

/// function._run(*arguments, grid=grid, warmup=False, **keywords), with the user's frames only.
PyObject *callGeneral(BoundObject *bound, PyObject *const *arguments, size_t count,
                      PyObject *keywords) {
  const GpuLauncher &launcher = *bound->owner->launcher;
  const Names &texts = names();
  const size_t named = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  std::vector<PyObject *> all = {launcher.general};
  all.insert(all.end(), arguments, arguments + count + named);
  all.push_back(bound->grid);
  all.push_back(Py_False);
  PyObject *names = PyTuple_New(static_cast<Py_ssize_t>(named) + 2);
  if (!names)
    return nullptr;
  for (size_t i = 0; i < named + 2; ++i) {
    PyObject *name = i < named    ? PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i))
                     : i == named ? texts.grid
                                  : texts.warmup;
    PyTuple_SET_ITEM(names, static_cast<Py_ssize_t>(i), Py_NewRef(name));
  }
  PyObject *result =
      PyObject_Vectorcall(surroundings().general.ptr(), all.data(), count + 1, names);
  Py_DECREF(names);
  return result;
}

enum class Outcome { Unusual, Unknown, Launched, Failed };

/// Tries the short way. `Unknown`: the key is good, and nothing is stored for it.
Outcome tryShort(BoundObject *bound, PyObject *const *arguments, size_t count, PyObject *keywords,
                 LaunchKey &key, uint64_t &hash, PyObject *&result) {
  const GpuLauncher &launcher = *bound->owner->launcher;
  bool isDebug = false;
  if (!launcher.isUsable || !hasActiveGpu() || !isPlainRun(launcher.functionDict, isDebug) ||
      !bindArguments(launcher.parameters, arguments, count, keywords, key) || !key.add(isDebug) ||
      !classifyArguments(launcher.parameters, key, /*acceptsCpu=*/false))
    return Outcome::Unusual;
  hash = key.hash();
  const Entry *entry = launcher.find(key, hash);
  if (!entry)
    return Outcome::Unknown;
  std::array<uint32_t, 3> grid;
  if (PyCallable_Check(bound->grid)) {
    const py::object kept = entry->compiled; // the function may launch kernels itself
    const auto sizes = py::reinterpret_steal<py::object>(callGrid(bound->grid, launcher, key));
    if (!sizes)
      return Outcome::Failed;
    entry = launcher.find(key, hash);
    if (!entry || !readGrid(sizes.ptr(), grid))
      return Outcome::Unusual;
  } else if (!readGrid(bound->grid, grid)) {
    return Outcome::Unusual;
  }
  result = Py_NewRef(entry->compiled.ptr());
  if (launchEntry(*entry, grid, key))
    return Outcome::Launched;
  Py_CLEAR(result);
  return Outcome::Failed;
}

PyObject *callBound(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords) {
  const ActiveCall call;
  auto *bound = reinterpret_cast<BoundObject *>(self);
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
  LaunchKey key;
  uint64_t hash = 0;
  PyObject *result = nullptr;
  try {
    const Outcome outcome = tryShort(bound, arguments, count, keywords, key, hash, result);
    if (outcome == Outcome::Launched || outcome == Outcome::Failed)
      return result;
    result = callGeneral(bound, arguments, count, keywords);
    if (result && outcome == Outcome::Unknown)
      bound->owner->launcher->remember(key, hash, result);
  } catch (py::error_already_set &error) {
    Py_CLEAR(result);
    error.restore();
  }
  return result;
}

PyObject *bindGrid(PyObject *self, PyObject *grid) {
  BoundObject *bound = PyObject_GC_New(BoundObject, boundType);
  if (!bound)
    return nullptr;
  bound->call = callBound;
  bound->owner = reinterpret_cast<LauncherObject *>(Py_NewRef(self));
  bound->grid = Py_NewRef(grid);
  PyObject_GC_Track(bound);
  return reinterpret_cast<PyObject *>(bound);
}

int traverseBound(PyObject *self, visitproc visit, void *arg) {
  auto *bound = reinterpret_cast<BoundObject *>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(bound->owner);
  Py_VISIT(bound->grid);
  return 0;
}

int clearBound(PyObject *self) {
  auto *bound = reinterpret_cast<BoundObject *>(self);
  Py_CLEAR(bound->owner);
  Py_CLEAR(bound->grid);
  return 0;
}

void freeBound(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clearBound(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

LaunchParameter parameterFrom(const py::tuple &tuple) {
  LaunchParameter parameter;
  PyObject *name = py::object(tuple[0]).release().ptr();
  PyUnicode_InternInPlace(&name);
  parameter.name = name;
  parameter.isConstexpr = tuple[1].cast<bool>();
  parameter.specializesOne = tuple[2].cast<bool>();
  parameter.specializesAlignment = tuple[3].cast<bool>();
  parameter.fixedType = tuple[4].cast<int>();
  parameter.isUnusual = tuple[5].cast<bool>();
  if (tuple[6].cast<bool>())
    parameter.defaultValue = py::object(tuple[7]).release().ptr();
  return parameter;
}

/// GpuLauncher(function, parameters): parameters are tuples, or None for unusual signatures.
PyObject *newLauncher(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *function = nullptr, *parameters = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &function, &parameters))
    return nullptr;
  auto *self = reinterpret_cast<LauncherObject *>(type->tp_alloc(type, 0));
  if (!self)
    return nullptr;
  self->launcher = new GpuLauncher;
  try {
    const py::handle object(function);
    self->launcher->function = object.inc_ref().ptr();
    self->launcher->functionDict = py::object(object.attr("__dict__")).release().ptr();
    self->launcher->general = py::object(object.attr("_run")).release().ptr();
    self->launcher->isUsable = parameters != Py_None;
    if (parameters != Py_None)
      for (const py::handle tuple : py::handle(parameters))
        self->launcher->parameters.push_back(
            parameterFrom(py::reinterpret_borrow<py::tuple>(tuple)));
  } catch (py::error_already_set &error) {
    Py_DECREF(self);
    error.restore();
    return nullptr;
  } catch (const py::cast_error &error) {
    Py_DECREF(self);
    PyErr_SetString(PyExc_TypeError, error.what());
    return nullptr;
  }
  return reinterpret_cast<PyObject *>(self);
}

int traverseLauncher(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (const GpuLauncher *launcher = reinterpret_cast<LauncherObject *>(self)->launcher) {
    Py_VISIT(launcher->function);
    Py_VISIT(launcher->functionDict);
    Py_VISIT(launcher->general);
    for (const LaunchParameter &parameter : launcher->parameters)
      Py_VISIT(parameter.defaultValue);
  }
  return 0;
}

int clearLauncher(PyObject *self) {
  GpuLauncher *launcher =
      std::exchange(reinterpret_cast<LauncherObject *>(self)->launcher, nullptr);
  if (!launcher)
    return 0;
  Py_CLEAR(launcher->function);
  Py_CLEAR(launcher->functionDict);
  Py_CLEAR(launcher->general);
  for (LaunchParameter &parameter : launcher->parameters) {
    Py_CLEAR(parameter.name);
    Py_CLEAR(parameter.defaultValue);
  }
  delete launcher;
  return 0;
}

void freeLauncher(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clearLauncher(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// key(arguments, keywords): the launch's key with CPU tensors taken for GPU ones, as a list of
/// (word, constant), and the run-time bits; None when only Python can say. For tests.
PyObject *keyOf(PyObject *self, PyObject *arguments) {
  PyObject *positional = nullptr, *named = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &positional, &PyDict_Type, &named))
    return nullptr;
  const GpuLauncher &launcher = *reinterpret_cast<LauncherObject *>(self)->launcher;
  std::vector<PyObject *> all(PySequence_Fast_ITEMS(positional),
                              PySequence_Fast_ITEMS(positional) + PyTuple_GET_SIZE(positional));
  py::list names;
  for (const auto &[name, value] : py::reinterpret_borrow<py::dict>(named)) {
    names.append(name);
    all.push_back(value.ptr());
  }
  LaunchKey key;
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(positional));
  const py::tuple keywords(names);
  if (!launcher.isUsable ||
      !bindArguments(launcher.parameters, all.data(), count, keywords.ptr(), key) ||
      !classifyArguments(launcher.parameters, key, /*acceptsCpu=*/true))
    Py_RETURN_NONE;
  py::list words, bits;
  for (size_t i = 0; i < key.size; ++i)
    words.append(py::make_tuple(key.words[i],
                                key.objects[i] ? py::handle(key.objects[i]) : py::handle(Py_None)));
  for (size_t i = 0; i < key.bitsCount; ++i)
    bits.append(key.bits[i]);
  return py::make_tuple(words, bits).release().ptr();
}

PyObject *clearEntries(PyObject *self, PyObject *) {
  reinterpret_cast<LauncherObject *>(self)->launcher->clear();
  Py_RETURN_NONE;
}

PyObject *countEntries(PyObject *self, PyObject *) {
  return PyLong_FromSize_t(reinterpret_cast<LauncherObject *>(self)->launcher->size());
}

PyMethodDef launcherMethods[] = {
    {"bind", bindGrid, METH_O, "The callable for a grid."},
    {"key", keyOf, METH_VARARGS, "The key of a launch, for tests."},
    {"clear", clearEntries, METH_NOARGS, "Forget all kernels."},
    {"stored", countEntries, METH_NOARGS, "How many kernels are stored."},
    {nullptr, nullptr, 0, nullptr},
};

PyTypeObject *makeType(PyType_Spec &spec) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw py::error_already_set();
  return reinterpret_cast<PyTypeObject *>(type);
}

PyType_Slot launcherSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(newLauncher)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeLauncher)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseLauncher)},
    {Py_tp_clear, reinterpret_cast<void *>(clearLauncher)},
    {Py_tp_methods, launcherMethods},
    {0, nullptr},
};
PyType_Spec launcherSpec = {"blockscope._core.GpuLauncher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, launcherSlots};

PyMemberDef boundMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot boundSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(freeBound)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseBound)},
    {Py_tp_clear, reinterpret_cast<void *>(clearBound)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_members, boundMembers},
    {0, nullptr},
};
PyType_Spec boundSpec = {"blockscope._core.BoundLaunch", sizeof(BoundObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         boundSlots};

/// Learns the types of torch: its tensors, its dtypes with the names of the language, its streams.
void registerTorch(const py::type &tensor, const py::type &parameter, const py::list &dtypes,
                   const py::object &currentRawStream) {
  TorchTypes &types = torchTypes();
  types.tensor = reinterpret_cast<PyTypeObject *>(tensor.inc_ref().ptr());
  types.parameter = reinterpret_cast<PyTypeObject *>(parameter.inc_ref().ptr());
  types.currentRawStream = currentRawStream.is_none() ? nullptr : currentRawStream.inc_ref().ptr();
  types.dtypes.clear();
  uint64_t code = 0;
  for (const py::handle dtype : dtypes)
    types.dtypes.emplace_back(dtype.inc_ref().ptr(), ++code);
}

} // namespace

void bindGpuLauncher(py::module_ &module) {
  boundType = makeType(boundSpec);
  module.attr("GpuLauncher") =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject *>(makeType(launcherSpec)));
  py::module_ gpu = module.attr("gpu").cast<py::module_>();
  gpu.def("activate", [](bool isActive) { gpuIsActive = isActive ? 1 : 0; });
  gpu.def("register_torch", &registerTorch);
}

} // namespace blockscope::python
