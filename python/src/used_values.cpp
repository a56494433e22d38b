// Compares what a kernel read with what is there now.
#include "python/src/used_values.h"

#include "python/src/launch_key.h"
#include "python/src/tensor.h"

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// The fields of a record. `Kept` says what a value was that may change and stay the same object:
/// its key, or what a constexpr holds; None for what is immutable itself.
enum Field : uint8_t { Owner, Name, Value, Kept };

/// What has the words of a value: itself, or what a constexpr holds. Null: only its key says it.
PyObject *immutablePart(PyObject *value) {
  if (isConstexpr(value)) {
    PyObject *inner = unwrapConstexpr(value).ptr(); // which the constexpr keeps alive
    return inner != Py_None && isImmutable(inner) ? inner : nullptr;
  }
  return isImmutable(value) ? value : nullptr;
}

/// A new reference to what stands there now, or null, maybe with an error.
PyObject *currentValue(PyObject *record) {
  PyObject *owner = PyTuple_GET_ITEM(record, Owner), *name = PyTuple_GET_ITEM(record, Name);
  if (PyDict_CheckExact(owner))
    return Py_XNewRef(PyDict_GetItemWithError(owner, name));
  if (PyCell_Check(owner))
    return Py_XNewRef(PyCell_GET(owner));
  return PyObject_GetAttr(owner, name);
}

bool isFresh(PyObject *record) {
  const auto now = py::reinterpret_steal<py::object>(currentValue(record));
  if (!now)
    return false;
  PyObject *before = PyTuple_GET_ITEM(record, Value), *kept = PyTuple_GET_ITEM(record, Kept);
  if (now.ptr() == before && (kept == Py_None || immutablePart(before) == kept))
    return true;
  LaunchKey key;
  if (!key.addExact(now.ptr()) || Py_TYPE(now.ptr()) != Py_TYPE(before))
    return false;
  if (isKeyObject(kept))
    return keyOf(kept).matches(key.words());
  LaunchKey old;
  return old.addExact(kept == Py_None ? before : kept) && areSame(old.words(), key.words());
}

} // namespace

py::tuple recordUsedValue(py::object owner, py::object name, py::object value) {
  PyObject *part = immutablePart(value.ptr());
  py::object kept = py::none();
  if (!part) {
    LaunchKey key;
    if (!key.addExact(value.ptr()))
      throw py::error_already_set();
    kept = makeKeyObject(key);
  } else if (part != value.ptr()) {
    kept = py::reinterpret_borrow<py::object>(part);
  }
  return py::make_tuple(std::move(owner), std::move(name), std::move(value), std::move(kept));
}

bool areUsedValuesFresh(PyObject *records) {
  // Looking at a value may run code that changes the list.
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(records); ++i) {
    const auto record = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(records, i));
    if (!isFresh(record.ptr())) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

void bindUsedValues(py::module_ &module) {
  module.def("record_used_value", &recordUsedValue);
  module.def("are_used_values_fresh",
             [](const py::list &records) { return areUsedValuesFresh(records.ptr()); });
}

} // namespace blockscope::python
