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

/// kernel[grid] is kernel._bind(grid), mostly a method of C.
PyObject *subscript(PyObject *kernel, PyObject *grid) {
  static constinit MadeOnce<PyObject *> name;
  PyObject *bind =
      PyObject_GetAttr(kernel, name.get([] { return PyUnicode_InternFromString("_bind"); }));
  PyObject *result = bind ? PyObject_CallOneArg(bind, grid) : nullptr;
  Py_XDECREF(bind);
  return result;
}

PyMethodDef subscriptMethod = {"__getitem__", subscript, METH_O, "The kernel on a grid."};

/// A method of C in a class of Python's.
void addSubscript(const py::type &type) {
  const auto method = py::reinterpret_steal<py::object>(
      PyDescr_NewMethod(reinterpret_cast<PyTypeObject *>(type.ptr()), &subscriptMethod));
  if (!method)
    throw py::error_already_set();
  type.attr("__getitem__") = method;
}

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

PyTypeObject *makeType(PyType_Spec &spec) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw py::error_already_set();
  return reinterpret_cast<PyTypeObject *>(type);
}

void bindBoundLaunch(py::module_ &module) {
  boundType = makeType(boundSpec);
  module.def("add_subscript", &addSubscript,
             "Give a class `kernel[grid]`, which is `kernel._bind(grid)`, as a method of C.");
}

} // namespace blockscope::python
