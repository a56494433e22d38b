// The Python type of `kernel[grid]`, without pybind11: every launch comes through.
#include "python/src/bound_launch.h"

#include "python/src/made_once.h"
#include "python/src/python_lock.h"
#include "python/src/surroundings.h"

#include "llvm/ADT/SmallVector.h"

#include <structmember.h>

#include <utility>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct BoundObject {
  PyObject_HEAD vectorcallfunc call;
  LaunchFunction launch;
  PyObject *owner, *grid;
};

PyTypeObject *boundType = nullptr;
/// One that is free: most launches make one, and give it back before the next one.
BoundObject *spareBound = nullptr;

PyObject *callBound(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords) {
  const ActiveCall call;
  auto *bound = reinterpret_cast<BoundObject *>(self);
  if (!bound->owner) {
    PyErr_SetString(PyExc_RuntimeError, "the kernel is being deleted");
    return nullptr;
  }
  return guarded([&] {
    return bound->launch(bound->owner, bound->grid, arguments,
                         static_cast<size_t>(PyVectorcall_NARGS(flags)), keywords);
  });
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
  clearBound(self); // may launch
  if (!spareBound)
    spareBound = reinterpret_cast<BoundObject *>(self);
  else
    PyObject_GC_Del(self);
  Py_DECREF(type);
}

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

// -- Launchable ---------------------------------------------------------------------------------

/// A type whose objects launch.
struct OwnerType {
  PyTypeObject *type;
  LaunchFunction launch;
  void (*attributesChanged)(PyObject *);
};
llvm::SmallVector<OwnerType, 2> ownerTypes; // guarded by Python's lock

struct LaunchableObject {
  PyObject_HEAD PyObject *owner; ///< null before it is bound
  OwnerType kind;                ///< of the owner
};

LaunchableObject *launchable(PyObject *self) { return reinterpret_cast<LaunchableObject *>(self); }

/// kernel[grid]
PyObject *subscript(PyObject *self, PyObject *grid) {
  if (PyObject *owner = launchable(self)->owner)
    return bindGrid(owner, grid, launchable(self)->kind.launch);
  static constinit MadeOnce<PyObject *> name;
  return PyObject_CallMethodOneArg(
      self, name.get([] { return PyUnicode_InternFromString("_bind"); }), grid);
}

int setAttribute(PyObject *self, PyObject *name, PyObject *value) {
  const int result = PyObject_GenericSetAttr(self, name, value);
  if (PyObject *owner = launchable(self)->owner)
    launchable(self)->kind.attributesChanged(owner);
  return result;
}

PyObject *bindBy(PyObject *self, PyObject *owner) {
  for (const OwnerType &kind : ownerTypes)
    if (kind.type == Py_TYPE(owner)) {
      launchable(self)->kind = kind;
      Py_XSETREF(launchable(self)->owner, Py_NewRef(owner));
      kind.attributesChanged(owner);
      Py_RETURN_NONE;
    }
  PyErr_Format(PyExc_TypeError, "bind_by got %s, expected a launcher", Py_TYPE(owner)->tp_name);
  return nullptr;
}

int traverseLaunchable(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launchable(self)->owner);
  return 0;
}

int clearLaunchable(PyObject *self) {
  Py_CLEAR(launchable(self)->owner);
  return 0;
}

PyMethodDef launchableMethods[] = {
    {"bind_by", bindBy, METH_O, "Launch by a launcher from now on."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot launchableSlots[] = {
    {Py_tp_doc, const_cast<char *>("The base of kernels: self[grid] is what their launcher gives, "
                                   "and self._bind(grid) before bind_by(launcher).")},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeCollected<clearLaunchable>)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseLaunchable)},
    {Py_tp_clear, reinterpret_cast<void *>(clearLaunchable)},
    {Py_tp_setattro, reinterpret_cast<void *>(setAttribute)},
    {Py_mp_subscript, reinterpret_cast<void *>(subscript)},
    {Py_tp_methods, launchableMethods},
    {0, nullptr},
};
PyType_Spec launchableSpec = {"blockscope._core.Launchable", sizeof(LaunchableObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                              launchableSlots};

} // namespace

PyObject *bindGrid(PyObject *owner, PyObject *grid, LaunchFunction launch) {
  BoundObject *bound = std::exchange(spareBound, nullptr);
  if (bound)
    PyObject_Init(reinterpret_cast<PyObject *>(bound), boundType);
  else if (bound = PyObject_GC_New(BoundObject, boundType); !bound)
    return nullptr;
  bound->call = callBound;
  bound->launch = launch;
  bound->owner = Py_NewRef(owner);
  bound->grid = Py_NewRef(grid);
  PyObject_GC_Track(bound);
  return reinterpret_cast<PyObject *>(bound);
}

PyObject *callGeneral(PyObject *general, PyObject *grid, PyObject *const *arguments, size_t count,
                      PyObject *keywords) {
  const size_t named = keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  llvm::SmallVector<PyObject *, 32> all = {general, grid};
  all.append(arguments, arguments + count + named);
  return PyObject_Vectorcall(surroundings().callForUser(), all.data(), count + 2, keywords);
}

void addOwner(PyTypeObject *type, LaunchFunction launch, void (*attributesChanged)(PyObject *)) {
  ownerTypes.push_back({type, launch, attributesChanged});
}

PyTypeObject *makeType(PyType_Spec &spec) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw py::error_already_set();
  return reinterpret_cast<PyTypeObject *>(type);
}

void bindBoundLaunch(py::module_ &module) {
  boundType = makeType(boundSpec);
  module.attr("Launchable") =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject *>(makeType(launchableSpec)));
}

} // namespace blockscope::python
