// What kernels pass to the language's functions, as C++ takes it: operands, constants, texts.
#include "python/src/tensor.h"

namespace py = pybind11;

namespace blockscope::python {
namespace {

bool intToOperand(PyObject *object, Operand &result) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow) {
    result.scalar = Scalar::ofInt(value);
    return true;
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred()) {
      result.scalar = Scalar::ofUInt(large);
      return true;
    }
    PyErr_Clear();
  }
  PyErr_Format(PyExc_OverflowError, "integer %S does not fit 64 bits", object);
  throw py::error_already_set();
}

[[noreturn]] void refuse(const char *op, const char *name, py::handle given, const char *expected) {
  const py::object found = unwrapConstexpr(given.ptr()); // step mode has plain constants
  const std::string text = isTensor(found.ptr())
                               ? "a tensor of " + typeText(valueOf(found.ptr()).type)
                               : py::repr(found).cast<std::string>() + " of Python type '" +
                                     Py_TYPE(found.ptr())->tp_name + "'";
  throw py::type_error(std::string(op) + ": " + name + " is " + text + ", expected " + expected);
}

} // namespace

bool toOperand(PyObject *object, Operand &result) {
  if (isTensor(object)) {
    result.value = valueOf(object);
    return true;
  }
  if (PyBool_Check(object)) {
    result.scalar = Scalar::ofBool(object == Py_True);
    return true;
  }
  if (PyLong_Check(object))
    return intToOperand(object, result);
  if (PyFloat_Check(object)) {
    result.scalar = Scalar::ofFloat(PyFloat_AS_DOUBLE(object));
    return true;
  }
  const py::object inner = unwrapConstexpr(object);
  if (inner.ptr() != object)
    return toOperand(inner.ptr(), result);
  if (PyIndex_Check(object)) { // numpy's integers
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (!index) {
      PyErr_Clear();
      return false;
    }
    return intToOperand(index.ptr(), result);
  }
  const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
  if (number && number->nb_float && !PyUnicode_Check(object)) { // numpy's floats
    const double value = PyFloat_AsDouble(object);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    result.scalar = Scalar::ofFloat(value);
    return true;
  }
  return false;
}

Operand operandOf(py::handle object, const char *op, const char *name) {
  Operand result;
  if (!toOperand(object.ptr(), result))
    refuse(op, name, object, "a tensor or a number");
  return result;
}

Value tensorOf(Semantic &semantic, py::handle object, const char *op, const char *name) {
  return semantic.toTensor(operandOf(object, op, name));
}

int64_t intOf(py::handle object, const char *op, const char *name) {
  const py::object value = unwrapConstexpr(object);
  // A tensor is refused in step mode too: the kernel must mean the same in both.
  if (!PyIndex_Check(value.ptr()) || isTensor(value.ptr()))
    refuse(op, name, value, "a constant integer (an int, or a name annotated tl.constexpr)");
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index)
    throw py::error_already_set();
  const long long result = PyLong_AsLongLong(index.ptr());
  if (PyErr_Occurred())
    throw py::error_already_set();
  return result;
}

bool boolOf(py::handle object, const char *op, const char *name) {
  const py::object value = unwrapConstexpr(object);
  if (isTensor(value.ptr()))
    refuse(op, name, value, "a constant bool");
  const int result = PyObject_IsTrue(value.ptr());
  if (result < 0)
    throw py::error_already_set();
  return result;
}

std::string textOf(py::handle object, const char *op, const char *name) {
  const py::object value = unwrapConstexpr(object);
  if (value.is_none())
    return "";
  if (!py::isinstance<py::str>(value))
    refuse(op, name, value, "a string");
  return value.cast<std::string>();
}

llvm::SmallVector<int64_t, 4> intsOf(py::handle object, const char *op, const char *name) {
  const py::object value = unwrapConstexpr(object);
  llvm::SmallVector<int64_t, 4> result;
  if (PyIndex_Check(value.ptr()) || isTensor(value.ptr())) {
    result.push_back(intOf(value, op, name));
    return result;
  }
  if (!py::isinstance<py::iterable>(value) || py::isinstance<py::str>(value))
    refuse(op, name, value, "constant integers");
  for (py::handle one : value)
    result.push_back(intOf(one, op, name));
  return result;
}

} // namespace blockscope::python
