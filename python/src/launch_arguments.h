// The arguments of one launch as C++ binds and classifies them: into its key, and the bits that the
// kernel takes. What is unusual is left to Python (runtime/arguments.py), which words every error.
#pragma once

#include "core/dtype.h"
#include "python/src/launch_key.h"
#include "python/src/torch_types.h"

#include <optional>
#include <utility>

namespace blockscope::python {

/// A parameter of a kernel, as far as its arguments are classified here.
struct LaunchParameter {
  pybind11::object name;         ///< interned
  pybind11::object defaultValue; ///< null without one
  bool isConstexpr = false;
  bool specializesOne = true;       ///< kernels know an int that is 1
  bool specializesAlignment = true; ///< kernels know what can be divided by 16
  std::optional<DType> fixedType;   ///< of an annotation: of a number
  bool takesPointer = false;        ///< an annotation says so
};

/// What a kernel takes at run time for one parameter, or for one part of a descriptor or tuple.
struct RunTimeArgument {
  uint64_t bits;    ///< a number, or the address of a tensor
  PyObject *owner;  ///< the tensor or the descriptor of it; null for numbers
  PyObject *tensor; ///< null for numbers
  bool isAligned;   ///< can be divided by 16, and the kernel may know it
  DType dtype;      ///< of the number, or of the tensor's elements
};

/// Bound and classified. Borrows every object from the caller.
struct LaunchArguments {
  static constexpr int kNoTensor = -2, kCpu = TensorFacts::kCpu;

  LaunchKey key;
  llvm::SmallVector<PyObject *, 24> values; ///< one per parameter, defaults filled in
  llvm::SmallVector<std::pair<PyObject *, PyObject *>, 8> options; ///< name and value, as given
  llvm::SmallVector<RunTimeArgument, 24> runTime;
  int device = kNoTensor; ///< where the tensors are: the number of a GPU, or kCpu

  /// Binds positional and keyword arguments, then computes their words.
  ///
  /// Errors: false, without a Python error, when Python has to look at the launch (and may find it
  /// wrong): a missing argument, an unknown keyword, an unusual type, tensors in several places.
  bool take(llvm::ArrayRef<LaunchParameter> parameters, PyObject *const *arguments, size_t count,
            PyObject *keywords);

private:
  bool bind(llvm::ArrayRef<LaunchParameter> parameters, PyObject *const *arguments, size_t count,
            PyObject *keywords);
  bool classify(const LaunchParameter &parameter, PyObject *value);
  bool classifyRunTime(const LaunchParameter &parameter, PyObject *value);
  bool addConstant(PyObject *value);
  void addAlignment();
  void append(RunTimeArgument argument);
  bool addTensor(const LaunchParameter &parameter, PyObject *tensor, PyObject *owner);
  bool addScalar(const LaunchParameter &parameter, DType dtype, uint64_t bits, bool isAligned);
  bool addFloat(const LaunchParameter &parameter, double value);
  bool addInt(const LaunchParameter &parameter, PyObject *value);
  bool addTuple(const LaunchParameter &parameter, PyObject *value);
  bool addDescriptor(const LaunchParameter &parameter, PyObject *value);
};

/// Whether it is a descriptor that was made on the host.
bool isDescriptor(PyObject *value);

/// Returns the parameter of a tuple (runtime/launcher.py).
LaunchParameter parameterFrom(const pybind11::tuple &tuple);

} // namespace blockscope::python
