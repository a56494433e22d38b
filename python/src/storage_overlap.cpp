// Asks torch where the storages of tensors begin and end.
#include "python/src/storage_overlap.h"

#include "python/src/made_once.h"

#include "llvm/ADT/SmallVector.h"

#include <pybind11/stl.h>

#include <cstdint>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct Names {
  PyObject *base = PyUnicode_InternFromString("base");
  PyObject *untypedStorage = PyUnicode_InternFromString("untyped_storage");
  PyObject *dataPtr = PyUnicode_InternFromString("data_ptr");
  PyObject *nbytes = PyUnicode_InternFromString("nbytes");
};

struct Extent {
  uint64_t begin = 0, end = 0;
  bool isKnown = false;
};

/// A new reference, or null with Python's error set.
PyObject *call(PyObject *object, PyObject *method) {
  PyObject *arguments[] = {object};
  return PyObject_VectorcallMethod(method, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

bool readNumber(PyObject *object, PyObject *method, uint64_t &number) {
  PyObject *result = call(object, method);
  if (!result)
    return false;
  number = PyLong_AsUnsignedLongLong(result);
  Py_DECREF(result);
  return !PyErr_Occurred();
}

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// All of the storage that an argument is in.
Extent extentOf(PyObject *owner) {
  Extent extent;
  if (!owner)
    return extent;
  auto storage = py::reinterpret_steal<py::object>(call(owner, names().untypedStorage));
  if (!storage) { // a descriptor
    PyErr_Clear();
    const auto base = py::reinterpret_steal<py::object>(PyObject_GetAttr(owner, names().base));
    if (base)
      storage = py::reinterpret_steal<py::object>(call(base.ptr(), names().untypedStorage));
  }
  uint64_t size = 0;
  extent.isKnown = storage && readNumber(storage.ptr(), names().dataPtr, extent.begin) &&
                   readNumber(storage.ptr(), names().nbytes, size);
  extent.end = extent.begin + size;
  PyErr_Clear();
  return extent;
}

} // namespace

ArgumentPairs overlapping(const ArgumentPairs &pairs, PyObject *const *owners, size_t count) {
  llvm::SmallVector<std::pair<int, Extent>, 8> asked;
  const auto extentOfArgument = [&](int argument) {
    for (const auto &[known, extent] : asked)
      if (known == argument)
        return extent;
    const bool isThere = argument >= 0 && static_cast<size_t>(argument) < count;
    return asked.emplace_back(argument, extentOf(isThere ? owners[argument] : nullptr)).second;
  };
  ArgumentPairs result;
  for (const auto &[first, second] : pairs) {
    const Extent a = extentOfArgument(first), b = extentOfArgument(second);
    if (!a.isKnown || !b.isKnown || (a.begin < b.end && b.begin < a.end))
      result.emplace_back(first, second);
  }
  return result;
}

void bindStorageOverlap(py::module_ &module) {
  py::module_ gpu = module.attr("gpu").cast<py::module_>();
  gpu.def("overlapping", [](const ArgumentPairs &pairs, const py::list &owners) {
    std::vector<PyObject *> all;
    for (const py::handle owner : owners)
      all.push_back(owner.ptr());
    return overlapping(pairs, all.data(), all.size());
  });
}

} // namespace blockscope::python
