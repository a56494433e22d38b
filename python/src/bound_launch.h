// `kernel[grid]`: a callable that keeps what launches, and the grid; and what has such kernels, the
// base class of Python's JITFunction.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace blockscope::python {

/// One launch: positional arguments, then those that `keywords`, a tuple or null, names. Returns a
/// new reference, or null with Python's error set; may throw.
using LaunchFunction = PyObject *(*)(PyObject * owner, PyObject *grid, PyObject *const *arguments,
                                     size_t count, PyObject *keywords);

/// Returns a new callable, or null with Python's error set.
PyObject *bindGrid(PyObject *owner, PyObject *grid, LaunchFunction launch);

/// Lets the objects of a type be what a `_core.Launchable` launches by. `attributesChanged` is told
/// that an attribute of the Launchable was set or deleted, from the time when it was bound on.
void addOwner(PyTypeObject *type, LaunchFunction launch, void (*attributesChanged)(PyObject *));

/// general(grid, *arguments, **keywords), whose errors have the user's frames only.
PyObject *callGeneral(PyObject *general, PyObject *grid, PyObject *const *arguments, size_t count,
                      PyObject *keywords);

/// Returns a type of Python made from its description. Errors: throws.
PyTypeObject *makeType(PyType_Spec &spec);

/// The `tp_dealloc` of a type of `makeType` whose objects the collector of cycles knows and which
/// `clear`, their `tp_clear`, empties.
template <int (*clear)(PyObject *)> void freeCollected(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/// Calls `function`, which gives an object or null, and puts its exceptions into Python's state.
template <typename Function> PyObject *guarded(Function function) {
  try {
    return function();
  } catch (pybind11::error_already_set &error) {
    error.restore();
  } catch (const pybind11::builtin_exception &error) {
    error.set_error();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

void bindBoundLaunch(pybind11::module_ &module);

} // namespace blockscope::python
