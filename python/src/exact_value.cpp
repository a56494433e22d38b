// Puts a value of Python into a key, by type and bits.
//
// Numbers are their bits, containers their class and items, objects of Python's classes their
// attributes, arrays and NumPy's numbers their bytes. What its class compares by identity (a
// function, a class, a dtype) is itself. What is left, objects of C such as a date, is compared by
// == and by its text, which tells apart what == does not.
#include "python/src/launch_key.h"
#include "python/src/made_once.h"
#include "python/src/tensor.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace py = pybind11;

namespace blockscope::python {

namespace {

template <typename Number> uint64_t bitsOf(Number number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(number));
  return bits;
}

PyObject *classOf(PyObject *value) { return reinterpret_cast<PyObject *>(Py_TYPE(value)); }

bool comparesByIdentity(PyObject *value) {
  return Py_TYPE(value)->tp_richcompare == PyBaseObject_Type.tp_richcompare || isScalarDtype(value);
}

/// The names of the slots of an object's class, in all its bases, as pickle finds them.
py::object slotNames(PyObject *value) {
  static constinit MadeOnce<py::object> made;
  const py::object &find =
      made.get([]() -> py::object { return py::module_::import("copyreg").attr("_slotnames"); });
  return py::reinterpret_steal<py::object>(PyObject_CallOneArg(find.ptr(), classOf(value)));
}

} // namespace

bool isImmutable(PyObject *value) {
  if (value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
      PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value))
    return true;
  return PyTuple_CheckExact(value)
             ? llvm::all_of(llvm::ArrayRef(PySequence_Fast_ITEMS(value),
                                           static_cast<size_t>(PyTuple_GET_SIZE(value))),
                            isImmutable)
             : comparesByIdentity(value);
}

PyObject *LaunchKey::own(py::object object) {
  owned_.push_back(std::move(object));
  return owned_.back().ptr();
}

bool LaunchKey::addOwned(py::object object) { return object && addExact(own(std::move(object))); }

bool LaunchKey::addExact(PyObject *value) {
  if (value == Py_None)
    return add(makeWord(WordKind::None));
  if (PyBool_Check(value))
    return add(makeWord(value == Py_True ? WordKind::True : WordKind::False));
  if (PyUnicode_CheckExact(value) || PyBytes_CheckExact(value))
    return add(makeWord(WordKind::Equal), value);
  if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyComplex_CheckExact(value))
    return addNumber(value);
  if (isConstexpr(value) && around_.empty()) // it means its value
    return addOwned(unwrapConstexpr(value));
  if (comparesByIdentity(value))
    return add(makeWord(WordKind::Identity), value);
  const auto *outer = llvm::find(around_, value);
  if (outer != around_.end())
    return add(makeWord(WordKind::Backward, static_cast<uint64_t>(outer - around_.begin())));
  if (Py_EnterRecursiveCall(" while a constant of a kernel is looked at"))
    return false;
  around_.push_back(value);
  const bool isGood = addContent(value);
  around_.pop_back();
  Py_LeaveRecursiveCall();
  return isGood;
}

bool LaunchKey::addNumber(PyObject *value) {
  if (PyFloat_Check(value))
    return add(makeWord(WordKind::Float)) && add(bitsOf(PyFloat_AS_DOUBLE(value)));
  if (PyComplex_Check(value)) {
    const Py_complex number = reinterpret_cast<PyComplexObject *>(value)->cval;
    return add(makeWord(WordKind::Complex)) && add(bitsOf(number.real)) && add(bitsOf(number.imag));
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0)
    return add(makeWord(WordKind::Equal),
               own(py::reinterpret_steal<py::object>(
                   PyLong_Type.tp_as_number->nb_positive(value)))); // of class int
  constexpr long long kEnd = 1LL << 55;
  if (number >= -kEnd && number < kEnd)
    return add(makeWord(WordKind::Int, static_cast<uint64_t>(number)));
  return add(makeWord(WordKind::LongInt)) && add(static_cast<uint64_t>(number));
}

/// A container, or an object of any other class, whose parts are not those of `around_`.
bool LaunchKey::addContent(PyObject *value) {
  WordKind kind = WordKind::Tuple;
  // Copies: the code of an item may change what it is in.
  py::object parts;
  if (PyTuple_Check(value)) {
    parts = py::reinterpret_borrow<py::object>(value);
  } else if (PyList_Check(value)) {
    kind = WordKind::List;
    parts = py::reinterpret_steal<py::object>(PyList_AsTuple(value));
  } else if (PyAnySet_Check(value)) {
    kind = WordKind::Set;
    parts = py::reinterpret_steal<py::object>(PySequence_Tuple(value));
  } else if (PyDict_Check(value)) {
    kind = WordKind::Dict;
    parts = py::reinterpret_steal<py::object>(PyDict_Copy(value));
  } else {
    return addOther(value);
  }
  bool hasState = false;
  return parts && addParts(kind, own(std::move(parts)), classOf(value)) &&
         addState(value, hasState);
}

/// The items of a tuple, or the keys and values of a dict.
bool LaunchKey::addParts(WordKind kind, PyObject *parts, PyObject *theirClass) {
  add(makeWord(kind, static_cast<uint64_t>(PyObject_Size(parts))), theirClass);
  if (PyTuple_Check(parts)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i)
      if (!addExact(PyTuple_GET_ITEM(parts, i)))
        return false;
    return true;
  }
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(parts, &at, &name, &value);)
    if (!addExact(name) || !addExact(value))
      return false;
  return true;
}

bool LaunchKey::addOther(PyObject *value) {
  if (isConstexpr(value))
    return add(makeWord(WordKind::Constexpr)) && addOwned(unwrapConstexpr(value));
  if (PySlice_Check(value)) {
    const auto *slice = reinterpret_cast<PySliceObject *>(value);
    return add(makeWord(WordKind::Slice)) && addExact(slice->start) && addExact(slice->stop) &&
           addExact(slice->step);
  }
  add(makeWord(WordKind::Object), classOf(value));
  bool isKnown = true, hasState = false;
  if (PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) {
    if (!addNumber(value))
      return false;
  } else if (PyUnicode_Check(value)) {
    if (!addOwned(py::reinterpret_steal<py::object>(PyUnicode_FromObject(value))))
      return false;
  } else if (!addBytes(value, isKnown)) {
    return false;
  }
  return addState(value, hasState) && (isKnown || hasState || addByEquality(value));
}

bool LaunchKey::addByEquality(PyObject *value) {
  const bool isHashable = Py_TYPE(value)->tp_hash != PyObject_HashNotImplemented;
  add(makeWord(isHashable ? WordKind::Equal : WordKind::Identity), value);
  return Py_TYPE(value)->tp_repr == PyBaseObject_Type.tp_repr ||
         addOwned(py::reinterpret_steal<py::object>(PyObject_Repr(value)));
}

/// The attributes that an object has beside what its class of C holds: of its dict and its slots.
bool LaunchKey::addState(PyObject *value, bool &hasState) {
  if (!(Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return true;
  const auto attributes =
      py::reinterpret_steal<py::object>(PyObject_GetAttrString(value, "__dict__"));
  if (!attributes) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
      return false;
    PyErr_Clear();
  }
  const py::object slots = slotNames(value);
  if (!slots)
    return false;
  if (attributes && PyDict_Check(attributes.ptr()) && PyDict_GET_SIZE(attributes.ptr()) != 0) {
    hasState = true;
    auto copy = py::reinterpret_steal<py::object>(PyDict_Copy(attributes.ptr()));
    if (!copy || !addParts(WordKind::Dict, own(std::move(copy)), nullptr))
      return false;
  }
  for (const py::handle name : slots) {
    PyObject *part = PyObject_GetAttr(value, name.ptr());
    if (!part) { // not set
      if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return false;
      PyErr_Clear();
      continue;
    }
    hasState = true;
    if (!addOwned(py::reinterpret_borrow<py::object>(name)) ||
        !addOwned(py::reinterpret_steal<py::object>(part)))
      return false;
  }
  return add(makeWord(WordKind::End));
}

/// The bytes of arrays, of NumPy's numbers and the like; `hasBytes` says whether it is one.
bool LaunchKey::addBytes(PyObject *value, bool &hasBytes) {
  hasBytes = false;
  Py_buffer view;
  if (!PyObject_CheckBuffer(value) || PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return true;
  }
  const char *format = view.format ? view.format : "B";
  auto bytes = py::reinterpret_steal<py::object>(PyBytes_FromStringAndSize(nullptr, view.len));
  if (std::strchr(format, 'O') == nullptr && bytes && // else they are addresses of objects
      PyBuffer_ToContiguous(PyBytes_AS_STRING(bytes.ptr()), &view, view.len, 'C') == 0) {
    hasBytes = true;
    add(makeWord(WordKind::Bytes, static_cast<uint64_t>(view.ndim)));
    for (int axis = 0; axis < view.ndim; ++axis)
      add(static_cast<uint64_t>(view.shape[axis]));
  }
  const bool isGood = !hasBytes || (addOwned(py::str(format)) && addOwned(std::move(bytes)));
  PyBuffer_Release(&view);
  PyErr_Clear();
  return isGood;
}

} // namespace blockscope::python
