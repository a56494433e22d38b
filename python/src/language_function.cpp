// A Python type without pybind11, since step mode calls one for nearly every op.
#include "python/src/language_function.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <structmember.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc call;
  PyObject *function;
  PyObject *attributes; ///< the __dict__; null when there is none yet
  PyObject *weakReferences;
};

FunctionObject *asFunction(PyObject *self) { return reinterpret_cast<FunctionObject *>(self); }

constexpr const char *kFromTriton[] = {"_semantic", "_builder", "_generator"};

bool isFromTriton(PyObject *name) {
  return PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) == '_' &&
         llvm::any_of(kFromTriton, [&](const char *known) {
           return PyUnicode_CompareWithASCIIString(name, known) == 0;
         });
}

PyObject *callWithout(PyObject *function, PyObject *const *arguments, size_t count,
                      PyObject *keywords) {
  llvm::SmallVector<PyObject *, 16> values(arguments, arguments + count), names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i)
    if (PyObject *name = PyTuple_GET_ITEM(keywords, i); !isFromTriton(name)) {
      names.push_back(name);
      values.push_back(arguments[count + static_cast<size_t>(i)]);
    }
  const auto left =
      py::reinterpret_steal<py::object>(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  if (!left)
    return nullptr;
  for (const auto [i, name] : llvm::enumerate(names))
    PyTuple_SET_ITEM(left.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(name));
  return PyObject_Vectorcall(function, values.data(), count, left.ptr());
}

PyObject *callFunction(PyObject *self, PyObject *const *arguments, size_t flags,
                       PyObject *keywords) {
  PyObject *function = asFunction(self)->function;
  if (keywords)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i)
      if (isFromTriton(PyTuple_GET_ITEM(keywords, i)))
        return callWithout(function, arguments, static_cast<size_t>(PyVectorcall_NARGS(flags)),
                           keywords);
  return PyObject_Vectorcall(function, arguments, flags, keywords);
}

PyObject *newFunction(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *function = nullptr;
  if (!PyArg_ParseTuple(arguments, "O:LanguageFunction", &function))
    return nullptr;
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "expected a callable, found '%s'",
                        Py_TYPE(function)->tp_name);
  PyObject *self = type->tp_alloc(type, 0);
  if (!self)
    return nullptr;
  asFunction(self)->call = callFunction;
  asFunction(self)->function = Py_NewRef(function);
  return self;
}

PyObject *bindToObject(PyObject *self, PyObject *object, PyObject *) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject *textOf(PyObject *self) { return PyObject_Repr(asFunction(self)->function); }

/// Pickles and copies as functions do: by name.
PyObject *reduceToName(PyObject *self, PyObject *) {
  return PyObject_GetAttrString(asFunction(self)->function, "__qualname__");
}

int traverseFunction(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(asFunction(self)->function);
  Py_VISIT(asFunction(self)->attributes);
  return 0;
}

/// The function stays: another object of the same garbage may call it yet.
int clearFunction(PyObject *self) {
  Py_CLEAR(asFunction(self)->attributes);
  return 0;
}

void freeFunction(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (asFunction(self)->weakReferences)
    PyObject_ClearWeakRefs(self);
  Py_CLEAR(asFunction(self)->attributes);
  Py_CLEAR(asFunction(self)->function);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef functionMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakReferences), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef functionMethods[] = {
    {"__reduce__", reduceToName, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef functionAttributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot functionSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(newFunction)},
    {Py_tp_dealloc, reinterpret_cast<void *>(freeFunction)},
    {Py_tp_traverse, reinterpret_cast<void *>(traverseFunction)},
    {Py_tp_clear, reinterpret_cast<void *>(clearFunction)},
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void *>(bindToObject)},
    {Py_tp_repr, reinterpret_cast<void *>(textOf)},
    {Py_tp_members, functionMembers},
    {Py_tp_methods, functionMethods},
    {Py_tp_getset, functionAttributes},
    {0, nullptr},
};
/// A method descriptor: `x.sum()` calls it with x first, and makes no bound method.
PyType_Spec functionSpec = {"blockscope._core.LanguageFunction", sizeof(FunctionObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                Py_TPFLAGS_METHOD_DESCRIPTOR,
                            functionSlots};

} // namespace

void bindLanguageFunction(py::module_ &module) {
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&functionSpec));
  if (!type)
    throw py::error_already_set();
  module.attr("LanguageFunction") = type;
  module.attr("KEYWORDS_FROM_TRITON") =
      py::make_tuple(kFromTriton[0], kFromTriton[1], kFromTriton[2]);
}

} // namespace blockscope::python
