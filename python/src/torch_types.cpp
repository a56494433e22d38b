// Learns torch's types when Python says that torch is in use.
#include "python/src/torch_types.h"

#include "python/src/made_once.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

/// `dtypes`: pairs of torch's dtype and the language's name of it.
void registerTorch(const py::type &tensor, const py::type &parameter,
                   const std::vector<std::pair<py::object, std::string>> &dtypes,
                   const py::object &currentRawStream) {
  TorchTypes &types = torchTypes();
  types.tensor = reinterpret_cast<PyTypeObject *>(tensor.inc_ref().ptr());
  types.parameter = reinterpret_cast<PyTypeObject *>(parameter.inc_ref().ptr());
  types.currentRawStream = currentRawStream.is_none() ? nullptr : currentRawStream.inc_ref().ptr();
  types.dtypes.clear();
  for (const auto &[dtype, name] : dtypes)
    if (const std::optional<DType> known = parseDType(name))
      types.dtypes.emplace_back(dtype.inc_ref().ptr(), *known);
}

} // namespace

TorchTypes &torchTypes() {
  static constinit MadeOnce<TorchTypes> made;
  return made.get();
}

std::optional<DType> dtypeOfTensor(PyObject *tensor) {
  static constinit MadeOnce<PyObject *> name;
  PyObject *dtype =
      PyObject_GetAttr(tensor, name.get([] { return PyUnicode_InternFromString("dtype"); }));
  if (!dtype) {
    PyErr_Clear();
    return std::nullopt;
  }
  Py_DECREF(dtype); // torch keeps its dtypes alive
  for (const auto &[known, number] : torchTypes().dtypes)
    if (known == dtype)
      return number;
  return std::nullopt;
}

std::optional<uint64_t> numberFrom(PyObject *object, PyObject *method) {
  PyObject *arguments[] = {object};
  PyObject *result =
      PyObject_VectorcallMethod(method, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) {
    PyErr_Clear();
    return std::nullopt;
  }
  const uint64_t number = PyLong_AsUnsignedLongLongMask(result);
  Py_DECREF(result);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return std::nullopt;
  }
  return number;
}

void bindTorchTypes(py::module_ &module) { module.def("register_torch", &registerTorch); }

} // namespace blockscope::python
