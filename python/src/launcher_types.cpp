// The Python type of the launcher, without pybind11 where every launch comes through.
#include "python/src/bound_launch.h"
#include "python/src/launcher.h"

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct LauncherObject {
  PyObject_HEAD Launcher *launcher; ///< null when it was cleared by the garbage collector
};

PyObject *launchOwned(PyObject *owner, PyObject *grid, PyObject *const *arguments, size_t count,
                      PyObject *keywords) {
  Launcher *launcher = launcherFrom(owner);
  if (launcher)
    return launcher->launch(grid, arguments, count, keywords);
  PyErr_SetString(PyExc_RuntimeError, "the kernel is being deleted");
  return nullptr;
}

PyObject *bindLaunch(PyObject *self, PyObject *grid) { return bindGrid(self, grid, launchOwned); }

/// Launcher(general, attributes, parameters)
PyObject *newLauncher(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *general = nullptr, *attributes = nullptr, *parameters = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO!O", &general, &PyDict_Type, &attributes, &parameters))
    return nullptr;
  auto self = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!self)
    return nullptr;
  return guarded([&]() -> PyObject * {
    auto *launcher = new Launcher;
    reinterpret_cast<LauncherObject *>(self.ptr())->launcher = launcher;
    launcher->general = py::reinterpret_borrow<py::object>(general);
    launcher->attributes = py::reinterpret_borrow<py::object>(attributes);
    launcher->isUsable = parameters != Py_None;
    if (parameters != Py_None)
      for (const py::handle tuple : py::handle(parameters))
        launcher->parameters.push_back(parameterFrom(py::reinterpret_borrow<py::tuple>(tuple)));
    return self.release().ptr();
  });
}

int traverseLauncher(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  const Launcher *launcher = reinterpret_cast<LauncherObject *>(self)->launcher;
  return launcher ? launcher->traverse(visit, arg) : 0;
}

int clearLauncher(PyObject *self) {
  delete std::exchange(reinterpret_cast<LauncherObject *>(self)->launcher, nullptr);
  return 0;
}

Launcher &launcherOf(PyObject *self) { return *launcherFrom(self); }

/// key(arguments, keywords): what a launch's key says of its arguments, as for a GPU, and the bits
/// of those that the kernel takes at run time; None when only Python can say. For tests.
PyObject *keyOfArguments(PyObject *self, PyObject *arguments) {
  PyObject *positional = nullptr, *named = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!O!", &PyTuple_Type, &positional, &PyDict_Type, &named))
    return nullptr;
  return guarded([&]() -> PyObject * {
    const Launcher &launcher = launcherOf(self);
    llvm::SmallVector<PyObject *, 32> all(PySequence_Fast_ITEMS(positional),
                                          PySequence_Fast_ITEMS(positional) +
                                              PyTuple_GET_SIZE(positional));
    py::list names;
    for (const auto &[name, value] : py::reinterpret_borrow<py::dict>(named)) {
      names.append(name);
      all.push_back(value.ptr());
    }
    LaunchArguments taken;
    const py::tuple keywords(names);
    if (!launcher.isUsable ||
        !taken.take(launcher.parameters, all.data(),
                    static_cast<size_t>(PyTuple_GET_SIZE(positional)), keywords.ptr()))
      return Py_NewRef(Py_None);
    py::list bits;
    for (const RunTimeArgument &argument : taken.runTime)
      bits.append(argument.bits);
    return py::make_tuple(makeKeyObject(taken.key), bits).release().ptr();
  });
}

PyObject *clearKept(PyObject *self, PyObject *) {
  launcherOf(self).clear();
  Py_RETURN_NONE;
}

PyObject *countKept(PyObject *self, PyObject *) {
  return PyLong_FromSize_t(launcherOf(self).size());
}

PyObject *countShort(PyObject *self, PyObject *) {
  return PyLong_FromUnsignedLongLong(launcherOf(self).shortLaunches);
}

PyMethodDef launcherMethods[] = {
    {"bind", bindLaunch, METH_O, "The callable for a grid."},
    {"key", keyOfArguments, METH_VARARGS, "The key of a launch, for tests."},
    {"clear", clearKept, METH_NOARGS, "Forget all kernels."},
    {"stored", countKept, METH_NOARGS, "How many kernels are kept."},
    {"short_launches", countShort, METH_NOARGS, "How many launches went the short way."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot launcherSlots[] = {
    {Py_tp_doc,
     const_cast<char *>(
         "Launcher(general, attributes, parameters): launches of one kernel.\n\n"
         "general(grid, *arguments, **keywords) launches what is not known; what it gives is kept "
         "if it has short_way(device), which gives a GpuShortWay, a CpuShortWay or None, "
         "and used_values, a list of record_used_value. attributes is the dict in which users set "
         "run, pre_run_hooks and debug. parameters are tuples (launcher.py), or None.")},
    {Py_tp_new, reinterpret_cast<void *>(newLauncher)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeCollected<clearLauncher>)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseLauncher)},
    {Py_tp_clear, reinterpret_cast<void *>(clearLauncher)},
    {Py_tp_methods, launcherMethods},
    {0, nullptr},
};
PyType_Spec launcherSpec = {"blockscope._core.Launcher", sizeof(LauncherObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, launcherSlots};

} // namespace

Launcher *launcherFrom(PyObject *object) {
  return reinterpret_cast<LauncherObject *>(object)->launcher;
}

void bindLauncher(py::module_ &module) {
  PyTypeObject *type = makeType(launcherSpec);
  module.attr("Launcher") = py::handle(reinterpret_cast<PyObject *>(type));
  addOwner(type, launchOwned, [](PyObject *owner) {
    if (Launcher *launcher = launcherFrom(owner))
      launcher->attributesChanged();
  });
}

void bindShortWays(py::module_ &module) {
  py::class_<ShortWay, std::shared_ptr<ShortWay>>(module, "ShortWay");
  bindGpuShortWay(module);
  bindCpuShortWay(module);
}

} // namespace blockscope::python
