// What a compiled GPU kernel depends on, computed from the arguments of one launch in a
// microsecond.
//
// A key is one word per parameter and launch option, with the Python object where a value is a
// constant. Keys are finer than those of Python (runtime/backends/cuda): one
// key always means one kernel.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <vector>

namespace blockscope::python {

constexpr size_t kMaxKeyWords = 96;

/// A parameter of a kernel, as far as its arguments are classified here.
struct LaunchParameter {
  PyObject *name = nullptr;         ///< interned
  PyObject *defaultValue = nullptr; ///< null without one
  bool isConstexpr = false;
  bool specializesOne = true;       ///< an int that is 1 becomes a constant
  bool specializesAlignment = true; ///< divisible by 16 or not
  int fixedType = -1;               ///< the ScalarCode that an annotation fixes, or -1
  bool isUnusual = false;           ///< an annotation that only Python knows how to convert to
};

/// Types of numbers, in an order that Python knows too (blockscope/runtime/launcher.py).
enum ScalarCode : uint8_t { I1, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64 };

/// The arguments of one launch, bound and classified. Borrows every object from the caller.
struct LaunchKey {
  std::array<uint64_t, kMaxKeyWords> words;
  std::array<PyObject *, kMaxKeyWords> objects; ///< the constant of a word, or null
  size_t size = 0;
  std::array<uint64_t, kMaxKeyWords> bits; ///< of the run-time arguments, in order
  std::array<PyObject *, kMaxKeyWords>
      owners; ///< for each of them the tensor or descriptor, or null
  size_t bitsCount = 0;
  std::array<PyObject *, kMaxKeyWords> values; ///< one per parameter, defaults filled in
  std::array<std::pair<PyObject *, PyObject *>, kMaxKeyWords> options;
  size_t optionCount = 0;
  int device = -1; ///< of the tensors; -1 without any

  bool add(uint64_t word, PyObject *object = nullptr);
  bool addBits(uint64_t value, PyObject *owner = nullptr);
  uint64_t hash() const;
};

/// Types of torch that are known by identity; empty until torch is in use.
struct TorchTypes {
  PyTypeObject *tensor = nullptr, *parameter = nullptr;
  PyObject *currentRawStream = nullptr; ///< a function of a device number
  std::vector<std::pair<PyObject *, uint64_t>> dtypes;
};
TorchTypes &torchTypes();

/// Binds positional and keyword arguments to parameters and launch options.
///
/// Errors: false, without a Python error, when Python has to look at the launch (and may find it
/// wrong): a missing argument, an unknown keyword, an unusual type.
bool bindArguments(const std::vector<LaunchParameter> &parameters, PyObject *const *arguments,
                   size_t count, PyObject *keywords, LaunchKey &key);

/// Computes the words of bound arguments. `acceptsCpu` takes CPU tensors too, for tests.
///
/// Errors: as bindArguments.
bool classifyArguments(const std::vector<LaunchParameter> &parameters, LaunchKey &key,
                       bool acceptsCpu);

/// Whether two constants make the same kernel: the same type and value, floats by their bits.
bool isSameConstant(PyObject *a, PyObject *b);

} // namespace blockscope::python
