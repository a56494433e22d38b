// What C++ knows of torch: types by identity, and numbers that a tensor's methods give.
#pragma once

#include "core/dtype.h"

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

namespace blockscope::python {

/// Empty until torch is in use.
struct TorchTypes {
  PyTypeObject *tensor = nullptr, *parameter = nullptr;
  PyObject *currentRawStream = nullptr; ///< a function of a device number
  std::vector<std::pair<PyObject *, DType>> dtypes;

  /// Subclasses may have methods of their own.
  bool isTensor(PyObject *value) const {
    return Py_TYPE(value) == tensor || Py_TYPE(value) == parameter;
  }
};
TorchTypes &torchTypes();

/// The element type of a tensor, or nothing for one that kernels do not have.
std::optional<DType> dtypeOfTensor(PyObject *tensor);
/// Calls a method without arguments for an integer.
///
/// Errors: nothing, without a Python error, when it fails (a tensor without storage, say).
std::optional<uint64_t> numberFrom(PyObject *object, PyObject *method);

void bindTorchTypes(pybind11::module_ &module);

} // namespace blockscope::python
