// `tl.tensor`: the Python object over a Value of the kernel, and conversions of what kernels pass.
//
// A plain CPython type and not a pybind11 class: its operators are direct slots, which step mode
// needs to stay near a microsecond per op. Signatures of bindings may use `Value` (see the caster).
#pragma once

#include "core/semantic/semantic.h"

#include <pybind11/pybind11.h>

namespace blockscope::python {

struct TensorObject {
  PyObject_HEAD Value value;
  bool isStepped; ///< the value is there now, as a block
};

/// The type object `tl.tensor`; null before `bindTensor`.
extern PyTypeObject *tensorType;

inline bool isTensor(PyObject *object) { return Py_TYPE(object) == tensorType; }
inline Value &valueOf(PyObject *tensor) { return reinterpret_cast<TensorObject *>(tensor)->value; }

/// Returns a new tensor of the current emitter.
pybind11::object wrapValue(Value value);

/// Converts a tensor, a constexpr of a number, or a number. Returns false for anything else.
///
/// Errors: throws OverflowError for integers of more than 64 bits.
bool toOperand(PyObject *object, Operand &result);
/// The same for argument `name` of `op`; throws TypeError.
Operand operandOf(pybind11::handle object, const char *op, const char *name);
/// A tensor, or a number made one by the rules of literals.
Value tensorOf(Semantic &semantic, pybind11::handle object, const char *op, const char *name);
/// An int, a constexpr of one, or (stepping) a scalar tensor.
int64_t intOf(pybind11::handle object, const char *op, const char *name);
bool boolOf(pybind11::handle object, const char *op, const char *name);
std::string textOf(pybind11::handle object, const char *op, const char *name);
/// A list, tuple or constexpr of ints; a lone int counts as one.
llvm::SmallVector<int64_t, 4> intsOf(pybind11::handle object, const char *op, const char *name);
/// Strips constexpr, also nested.
pybind11::object unwrapConstexpr(pybind11::handle object);
bool isConstexpr(pybind11::handle object);
/// Whether it is a dtype that is no pointer and no block: there is one object of each.
bool isScalarDtype(pybind11::handle object);

/// A dtype, pointer_type, block_type, or the name of a dtype.
Type typeFromPython(pybind11::handle object);
pybind11::object typeToPython(const Type &type);
pybind11::object makeConstexpr(pybind11::object value);

/// Throws the error of the rule book or of the emitter, if there is one.
void finishOp(Semantic &semantic);

void bindTypes(pybind11::module_ &module);
void bindTensor(pybind11::module_ &module);
void bindSemantic(pybind11::module_ &module);

} // namespace blockscope::python

namespace pybind11::detail {

template <> struct type_caster<blockscope::Value> {
  PYBIND11_TYPE_CASTER(blockscope::Value, const_name("tensor"));
  bool load(handle source, bool) {
    if (!blockscope::python::isTensor(source.ptr()))
      return false;
    value = blockscope::python::valueOf(source.ptr());
    return true;
  }
  static handle cast(blockscope::Value value, return_value_policy, handle) {
    return blockscope::python::wrapValue(std::move(value)).release();
  }
};

template <> struct type_caster<blockscope::Type> {
  PYBIND11_TYPE_CASTER(blockscope::Type, const_name("dtype"));
  bool load(handle source, bool) {
    try {
      value = blockscope::python::typeFromPython(source);
    } catch (type_error &) {
      return false;
    }
    return true;
  }
  static handle cast(const blockscope::Type &type, return_value_policy, handle) {
    return blockscope::python::typeToPython(type).release();
  }
};

} // namespace pybind11::detail
