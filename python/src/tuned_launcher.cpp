// Finds the configuration of a launch, and launches with it.
#include "python/src/tuned_launcher.h"

#include "python/src/bound_launch.h"
#include "python/src/made_once.h"
#include "python/src/torch_types.h"

#include "llvm/ADT/STLExtras.h"

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct Names {
  PyObject *run = PyUnicode_InternFromString("run");
  PyObject *cache = PyUnicode_InternFromString("cache");
  PyObject *configs = PyUnicode_InternFromString("configs");
  PyObject *bestConfig = PyUnicode_InternFromString("best_config");
  PyObject *warmup = PyUnicode_InternFromString("warmup");
  PyObject *grid = PyUnicode_InternFromString("grid");
  PyObject *fn = PyUnicode_InternFromString("fn");
  PyObject *base = PyUnicode_InternFromString("base");
  PyObject *dtype = PyUnicode_InternFromString("dtype");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// Borrowed; null, without an error, where there is none.
PyObject *attributeOf(const py::object &attributes, PyObject *name) {
  return PyDict_GetItemWithError(attributes.ptr(), name);
}

/// Gives the attributes of a configuration to `take`, and what is in dicts among them; false when
/// it is none of ours, or when `take` says so.
template <typename Take> bool forEachContent(PyObject *config, Take take) {
  PyObject *name = nullptr, *value = nullptr;
  const auto attributes =
      py::reinterpret_steal<py::object>(PyObject_GenericGetDict(config, nullptr));
  if (!attributes) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t at = 0; PyDict_Next(attributes.ptr(), &at, &name, &value);) {
    if (!take(name) || !take(value))
      return false;
    PyObject *key = nullptr, *item = nullptr;
    if (PyDict_CheckExact(value))
      for (Py_ssize_t in = 0; PyDict_Next(value, &in, &key, &item);)
        if (!take(key) || !take(item))
          return false;
  }
  return true;
}

} // namespace

/// What the choice depends on. False, without a Python error, where Python has to look.
bool TunedLauncher::takeKey(PyObject *const *arguments, size_t count, PyObject *keywords,
                            LaunchKey &key) const {
  Surroundings &around = surroundings();
  if (!around.isPlain() || around.isWatched() || attributeOf(attributes, names().run) ||
      attributeOf(attributes, names().fn) != kernel.ptr() || count > isKey.size())
    return false;
  key.add(count);
  for (size_t i = 0; i < count; ++i)
    if (!addArgument(i, arguments[i], key))
      return false;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject *name = PyTuple_GET_ITEM(keywords, i);
    if (name == names().warmup || name == names().grid || !PyUnicode_CHECK_INTERNED(name))
      return false;
    key.add(makeWord(WordKind::Identity), name);
    const auto parameter =
        llvm::find_if(parameters, [&](const py::object &each) { return each.ptr() == name; });
    if (parameter != parameters.end() &&
        !addArgument(static_cast<size_t>(parameter - parameters.begin()),
                     arguments[count + static_cast<size_t>(i)], key))
      return false;
  }
  return true;
}

bool TunedLauncher::addArgument(size_t parameter, PyObject *value, LaunchKey &key) const {
  if (torchTypes().isTensor(value)) {
    const auto dtype = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().dtype));
    if (dtype && !isKey[parameter])
      return key.add(makeWord(WordKind::Identity), dtype.ptr()); // torch keeps its dtypes alive
  } else if (isDescriptor(value)) {
    const auto base = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().base));
    if (base && torchTypes().isTensor(base.ptr()) && !isKey[parameter])
      return addArgument(parameter, base.ptr(), key);
  } else if (value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
             PyFloat_CheckExact(value) || PyUnicode_CheckExact(value)) {
    if (!isKey[parameter])
      return key.add(0);
    if (key.addExact(value))
      return true;
  }
  PyErr_Clear(); // anything else may have a dtype
  return false;
}

TunedLauncher::Kept TunedLauncher::find(const LaunchKey &key) const {
  const auto [begin, end] = choices_.equal_range(key.hash());
  for (auto it = begin; it != end; ++it)
    if (it->second->key.matches(key.words())) // of texts and numbers: no other code runs
      return it->second;
  return nullptr;
}

/// Whether the autotuner would choose the same again.
bool TunedLauncher::holds(const Choice &choice) const {
  PyObject *configs = attributeOf(attributes, names().configs);
  if (!configs || !PyList_CheckExact(configs))
    return false;
  PyObject *chosen = nullptr;
  if (!choice.cacheKey) {
    chosen = PyList_GET_SIZE(configs) == 1 ? PyList_GET_ITEM(configs, 0) : nullptr;
  } else if (PyList_GET_SIZE(configs) != 1) {
    PyObject *cache = attributeOf(attributes, names().cache);
    if (cache && PyDict_CheckExact(cache))
      chosen = PyDict_GetItemWithError(cache, choice.cacheKey.ptr());
  }
  if (chosen != choice.config.ptr()) {
    PyErr_Clear();
    return false;
  }
  auto next = choice.contents.begin();
  return forEachContent(chosen,
                        [&](PyObject *part) {
                          return next != choice.contents.end() && (next++)->ptr() == part;
                        }) &&
         next == choice.contents.end();
}

/// Asks Python what it has launched with, and keeps it.
void TunedLauncher::remember(const LaunchKey &key, PyObject *const *arguments, size_t count,
                             PyObject *keywords) {
  const auto found = py::reinterpret_steal<py::object>(
      PyObject_Vectorcall(choice.ptr(), arguments, count, keywords));
  if (!found)
    throw py::error_already_set();
  if (found.is_none())
    return;
  auto [cacheKey, config, hook, chosen] =
      found.cast<std::tuple<py::object, py::object, py::object, py::dict>>();
  auto kept = llvm::makeIntrusiveRefCnt<Choice>(key);
  kept->cacheKey = cacheKey.is_none() ? py::object() : cacheKey;
  kept->config = config;
  kept->hook = hook.is_none() ? py::object() : hook;
  py::list all;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
    all.append(py::handle(PyTuple_GET_ITEM(keywords, i)));
  for (const auto &[name, value] : chosen) {
    all.append(name);
    kept->values.push_back(py::reinterpret_borrow<py::object>(value));
  }
  kept->keywords = py::tuple(all);
  if (!forEachContent(config.ptr(), [&](PyObject *part) {
        kept->contents.push_back(py::reinterpret_borrow<py::object>(part));
        return true;
      }))
    return;
  const uint64_t hash = kept->key.hash();
  for (auto [it, end] = choices_.equal_range(hash); it != end; ++it)
    if (it->second->key.matches(key.words())) {
      const Kept before = std::exchange(it->second, std::move(kept)); // freeing it runs code
      return;
    }
  choices_.emplace(hash, std::move(kept));
}

/// Calls the hook of a configuration with all arguments by name, as the autotuner does. False with
/// Python's error set.
bool TunedLauncher::callHook(const Choice &choice, PyObject *grid, PyObject *const *arguments,
                             size_t count, llvm::ArrayRef<PyObject *> named) const {
  const auto all = py::reinterpret_steal<py::object>(PyDict_New());
  bool isGood = static_cast<bool>(all);
  const auto add = [&](PyObject *name, PyObject *value) {
    isGood = isGood && PyDict_SetItem(all.ptr(), name, value) == 0;
  };
  for (size_t i = 0; i < count; ++i)
    add(parameters[i].ptr(), arguments[i]);
  add(names().grid, grid);
  add(names().warmup, Py_False);
  for (size_t i = 0; i < named.size(); ++i)
    add(PyTuple_GET_ITEM(choice.keywords.ptr(), static_cast<Py_ssize_t>(i)), named[i]);
  const auto result = py::reinterpret_steal<py::object>(
      isGood ? PyObject_CallOneArg(choice.hook.ptr(), all.ptr()) : nullptr);
  return static_cast<bool>(result);
}

PyObject *TunedLauncher::launch(PyObject *grid, PyObject *const *arguments, size_t count,
                                PyObject *keywords) {
  LaunchKey key;
  const bool isKnown = takeKey(arguments, count, keywords, key);
  const Kept kept = isKnown ? find(key) : nullptr;
  Launcher *own = launcherFrom(launcher.ptr());
  if (!kept || !own || !holds(*kept)) {
    auto kernel = py::reinterpret_steal<py::object>(
        callGeneral(general.ptr(), grid, arguments, count, keywords));
    if (kernel && isKnown)
      remember(key, arguments, count, keywords);
    return kernel.release().ptr();
  }
  llvm::SmallVector<PyObject *, 32> all(arguments, arguments + count +
                                                       (keywords ? PyTuple_GET_SIZE(keywords) : 0));
  for (const py::object &value : kept->values)
    all.push_back(value.ptr());
  if (attributeOf(attributes, names().bestConfig) != kept->config.ptr())
    attributes.cast<py::dict>()[names().bestConfig] = kept->config;
  if (kept->hook && !callHook(*kept, grid, arguments, count, llvm::ArrayRef(all).drop_front(count)))
    return nullptr;
  return own->launch(grid, all.data(), count, kept->keywords.ptr());
}

int TunedLauncher::traverse(visitproc visit, void *arg) const {
  Py_VISIT(general.ptr());
  Py_VISIT(choice.ptr());
  Py_VISIT(attributes.ptr());
  Py_VISIT(kernel.ptr());
  Py_VISIT(launcher.ptr());
  for (const auto &[hash, kept] : choices_) {
    if (kept->UseCount() != 1) // one that is launched: its references are not all here
      continue;
    for (const KeyWord &word : kept->key.words())
      Py_VISIT(word.object);
    Py_VISIT(kept->cacheKey.ptr());
    Py_VISIT(kept->config.ptr());
    Py_VISIT(kept->hook.ptr());
    Py_VISIT(kept->keywords.ptr());
    for (const auto *parts : {&kept->contents, &kept->values})
      for (const py::object &part : *parts)
        Py_VISIT(part.ptr());
  }
  return 0;
}

namespace {

struct TunedObject {
  PyObject_HEAD TunedLauncher *launcher; ///< null when it was cleared by the garbage collector
};

TunedLauncher *launcherOf(PyObject *self) {
  return reinterpret_cast<TunedObject *>(self)->launcher;
}

PyObject *launchOwned(PyObject *owner, PyObject *grid, PyObject *const *arguments, size_t count,
                      PyObject *keywords) {
  if (TunedLauncher *launcher = launcherOf(owner))
    return launcher->launch(grid, arguments, count, keywords);
  PyErr_SetString(PyExc_RuntimeError, "the kernel is being deleted");
  return nullptr;
}

PyObject *bindLaunch(PyObject *self, PyObject *grid) { return bindGrid(self, grid, launchOwned); }

/// TunedLauncher(general, choice, attributes, kernel, launcher, parameters, keys)
PyObject *newLauncher(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *general = nullptr, *choice = nullptr, *attributes = nullptr, *kernel = nullptr,
           *ofKernel = nullptr, *parameters = nullptr, *keys = nullptr;
  if (!PyArg_ParseTuple(arguments, "OOO!OOO!O!", &general, &choice, &PyDict_Type, &attributes,
                        &kernel, &ofKernel, &PyList_Type, &parameters, &PyList_Type, &keys))
    return nullptr;
  auto self = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!self)
    return nullptr;
  return guarded([&]() -> PyObject * {
    auto *launcher = new TunedLauncher;
    reinterpret_cast<TunedObject *>(self.ptr())->launcher = launcher;
    launcher->general = py::reinterpret_borrow<py::object>(general);
    launcher->choice = py::reinterpret_borrow<py::object>(choice);
    launcher->attributes = py::reinterpret_borrow<py::object>(attributes);
    launcher->kernel = py::reinterpret_borrow<py::object>(kernel);
    launcher->launcher = py::reinterpret_borrow<py::object>(ofKernel);
    const auto keyNames = py::reinterpret_borrow<py::list>(keys);
    for (const py::handle parameter : py::handle(parameters)) {
      PyObject *name = parameter.inc_ref().ptr();
      PyUnicode_InternInPlace(&name);
      launcher->parameters.push_back(py::reinterpret_steal<py::object>(name));
      launcher->isKey.push_back(keyNames.contains(parameter));
    }
    return self.release().ptr();
  });
}

int traverseLauncher(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  const TunedLauncher *launcher = launcherOf(self);
  return launcher ? launcher->traverse(visit, arg) : 0;
}

int clearLauncher(PyObject *self) {
  delete std::exchange(reinterpret_cast<TunedObject *>(self)->launcher, nullptr);
  return 0;
}

PyMethodDef launcherMethods[] = {
    {"bind", bindLaunch, METH_O, "The callable for a grid."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot launcherSlots[] = {
    {Py_tp_doc,
     const_cast<char *>(
         "TunedLauncher(general, choice, attributes, kernel, launcher, parameters, keys): launches "
         "of an autotuned kernel.\n\n"
         "general(grid, *arguments, **keywords) launches what is not known; then "
         "choice(*arguments, **keywords) gives what it launched with: the key in `cache` of "
         "attributes, the autotuner's dict (None: there is one configuration), the configuration, "
         "its hook or None, its keywords; None for what must not be repeated. kernel is the "
         "JITFunction, launcher its launcher, parameters are its names, keys those that the "
         "choice depends on.")},
    {Py_tp_new, reinterpret_cast<void *>(newLauncher)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeCollected<clearLauncher>)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseLauncher)},
    {Py_tp_clear, reinterpret_cast<void *>(clearLauncher)},
    {Py_tp_methods, launcherMethods},
    {0, nullptr},
};
PyType_Spec launcherSpec = {"blockscope._core.TunedLauncher", sizeof(TunedObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, launcherSlots};

} // namespace

void bindTunedLauncher(py::module_ &module) {
  PyTypeObject *type = makeType(launcherSpec);
  module.attr("TunedLauncher") = py::handle(reinterpret_cast<PyObject *>(type));
  addOwner(type, launchOwned, [](PyObject *) {}); // it looks at them in each launch
}

} // namespace blockscope::python
