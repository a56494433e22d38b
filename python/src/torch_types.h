// What C++ knows of torch: types by identity, what its tensors say of themselves, its streams.
#pragma once

#include "core/dtype.h"
#include "python/src/dlpack.h"

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

namespace blockscope::python {

/// Empty until torch is in use.
struct TorchTypes {
  PyTypeObject *tensor = nullptr, *parameter = nullptr;
  PyObject *currentRawStream = nullptr; ///< a function of a device number
  std::vector<std::pair<PyObject *, DType>> dtypes;
  /// Null before torch 2.10. What it does not say, methods do.
  const Dlpack::ExchangeApi *exchange = nullptr;

  /// Subclasses may have methods of their own.
  bool isTensor(PyObject *value) const {
    return Py_TYPE(value) == tensor || Py_TYPE(value) == parameter;
  }
};
TorchTypes &torchTypes();

/// What a launch asks of a tensor.
struct TensorFacts {
  static constexpr int kCpu = -1;

  uint64_t address;
  int device; ///< the number of a GPU, or kCpu
  DType dtype;
};

/// Reads a torch tensor.
///
/// Errors: false, without a Python error, for one that kernels cannot take: without storage, of a
/// dtype or on a device that they do not have.
bool readTensor(PyObject *tensor, TensorFacts &facts);
/// The stream of a GPU in which torch works now; the default one without torch.
///
/// Errors: false, with Python's error set.
bool currentStream(int device, uint64_t &stream);
/// Calls a method without arguments for an integer.
///
/// Errors: nothing, without a Python error, when it fails (a tensor without storage, say).
std::optional<uint64_t> numberFrom(PyObject *object, PyObject *method);

void bindTorchTypes(pybind11::module_ &module);

} // namespace blockscope::python
