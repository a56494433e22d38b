// Binds and classifies the arguments of a launch.
#include "python/src/launch_arguments.h"

#include "core/numeric/scalar.h"
#include "python/src/made_once.h"
#include "python/src/tensor.h"
#include "python/src/torch_types.h"

#include <cstdint>

namespace py = pybind11;

namespace blockscope::python {

namespace {

constexpr uint64_t kAlignment = 16;

struct Names {
  PyObject *base = PyUnicode_InternFromString("base");
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *strides = PyUnicode_InternFromString("strides");
  PyObject *blockShape = PyUnicode_InternFromString("block_shape");
  PyObject *padding = PyUnicode_InternFromString("padding");
  PyObject *rounds = PyUnicode_InternFromString("round_f32_to_tf32");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

bool fits(int64_t value, DType dtype) {
  const int bits = bitWidth(dtype);
  if (isSigned(dtype))
    return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
  return value >= 0 && (bits == 64 || value < int64_t{1} << bits);
}

/// Gives every int of the list `object.name` to `take`; false for anything but a list of ints.
template <typename Take> bool forEachInt(PyObject *object, PyObject *name, Take take) {
  const auto list = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name));
  bool isGood = list && PyList_CheckExact(list.ptr());
  for (Py_ssize_t i = 0; isGood && i < PyList_GET_SIZE(list.ptr()); ++i) {
    PyObject *item = PyList_GET_ITEM(list.ptr(), i);
    int overflow = 1;
    const long long number =
        PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
    isGood = overflow == 0 && take(number);
  }
  if (PyErr_Occurred())
    PyErr_Clear();
  return isGood;
}

PyTypeObject *descriptorType() {
  static constinit MadeOnce<py::object> made;
  const py::object &type = made.get([]() -> py::object {
    return py::module_::import("blockscope.runtime.tensor_descriptor").attr("TensorDescriptor");
  });
  return reinterpret_cast<PyTypeObject *>(type.ptr());
}

/// Finds a keyword among the parameters. Their names are interned, and mostly so is the keyword.
size_t findParameter(llvm::ArrayRef<LaunchParameter> parameters, PyObject *name) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name.ptr() == name)
      return i;
  if (PyUnicode_CHECK_INTERNED(name))
    return parameters.size();
  for (size_t i = 0; i < parameters.size(); ++i)
    if (PyUnicode_Compare(parameters[i].name.ptr(), name) == 0)
      return i;
  return parameters.size();
}

} // namespace

bool isDescriptor(PyObject *value) { return Py_TYPE(value) == descriptorType(); }

bool LaunchArguments::take(llvm::ArrayRef<LaunchParameter> parameters, PyObject *const *arguments,
                           size_t count, PyObject *keywords) {
  if (!bind(parameters, arguments, count, keywords))
    return false;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!classify(parameters[i], values[i]))
      return false;
  for (const auto &[name, value] : options) {
    key.add(makeWord(WordKind::Option));
    if (!key.addExact(name) || !key.addExact(value)) {
      PyErr_Clear();
      return false;
    }
  }
  addAlignment();
  return true;
}

bool LaunchArguments::bind(llvm::ArrayRef<LaunchParameter> parameters, PyObject *const *arguments,
                           size_t count, PyObject *keywords) {
  if (count > parameters.size())
    return false;
  values.assign(parameters.size(), nullptr);
  std::copy_n(arguments, count, values.begin());
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject *name = PyTuple_GET_ITEM(keywords, i);
    PyObject *value = arguments[count + static_cast<size_t>(i)];
    const size_t index = findParameter(parameters, name);
    if (index == parameters.size())
      options.emplace_back(name, value);
    else if (values[index])
      return false; // two values for one parameter
    else
      values[index] = value;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!values[i])
      values[i] = parameters[i].defaultValue.ptr();
    if (!values[i])
      return false;
  }
  return true;
}

bool LaunchArguments::classify(const LaunchParameter &parameter, PyObject *value) {
  return parameter.isConstexpr ? addConstant(value) : classifyRunTime(parameter, value);
}

bool LaunchArguments::addConstant(PyObject *value) {
  if (!torchTypes().isTensor(value) && key.addExact(value))
    return true;
  PyErr_Clear();
  return false;
}

bool LaunchArguments::classifyRunTime(const LaunchParameter &parameter, PyObject *value) {
  if (value == Py_None || PyUnicode_CheckExact(value))
    return addConstant(value);
  if (torchTypes().isTensor(value))
    return !parameter.fixedType && addTensor(parameter, value, value);
  if (parameter.takesPointer)
    return false;
  if (PyLong_CheckExact(value))
    return addInt(parameter, value);
  if (PyFloat_CheckExact(value))
    return addFloat(parameter, PyFloat_AS_DOUBLE(value));
  if (PyBool_Check(value))
    return parameter.fixedType.value_or(DType::Int1) == DType::Int1
               ? addScalar(parameter, DType::Int1, value == Py_True, false)
               : addInt(parameter, value);
  if (PyTuple_Check(value))
    return addTuple(parameter, value);
  if (isConstexpr(value)) // stays a constant, also inside of a tuple
    return addConstant(value);
  return isDescriptor(value) && addDescriptor(parameter, value);
}

/// A tuple, or one with names: its parts are arguments like others.
bool LaunchArguments::addTuple(const LaunchParameter &parameter, PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  // Others may have attributes of their own, which Python looks at.
  if (type != &PyTuple_Type && (type->tp_dictoffset != 0 || type->tp_base != &PyTuple_Type))
    return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(value);
  key.add(makeWord(WordKind::Tuple, static_cast<uint64_t>(count)),
          reinterpret_cast<PyObject *>(type));
  if (Py_EnterRecursiveCall(" while the arguments of a launch are looked at")) {
    PyErr_Clear();
    return false;
  }
  bool isGood = true;
  for (Py_ssize_t i = 0; isGood && i < count; ++i)
    isGood = classifyRunTime(parameter, PyTuple_GET_ITEM(value, i));
  Py_LeaveRecursiveCall();
  return isGood;
}

inline void LaunchArguments::append(RunTimeArgument argument) {
  const size_t place = runTime.size();
  runTime.resize_for_overwrite(place + 1);
  runTime[place] = argument;
}

/// `owner` is the argument, which lives as long as the launch: the tensor, or a descriptor of it.
bool LaunchArguments::addTensor(const LaunchParameter &parameter, PyObject *tensor,
                                PyObject *owner) {
  TensorFacts facts;
  if (!readTensor(tensor, facts) || (device != kNoTensor && device != facts.device))
    return false;
  device = facts.device;
  append({facts.address, owner, tensor,
          parameter.specializesAlignment && facts.address % kAlignment == 0, facts.dtype});
  return key.add(makeWord(WordKind::Tensor, static_cast<uint64_t>(facts.dtype)));
}

bool LaunchArguments::addScalar(const LaunchParameter &parameter, DType dtype, uint64_t bits,
                                bool isAligned) {
  append({bits, nullptr, nullptr, isAligned && parameter.specializesAlignment, dtype});
  return key.add(makeWord(WordKind::Scalar, static_cast<uint64_t>(dtype)));
}

bool LaunchArguments::addFloat(const LaunchParameter &parameter, double value) {
  const DType dtype = parameter.fixedType.value_or(DType::Fp32);
  if (!isFloating(dtype))
    return false;
  uint64_t bits = 0;
  numeric::writeDouble(dtype, value, &bits);
  return addScalar(parameter, dtype, bits, false);
}

bool LaunchArguments::addInt(const LaunchParameter &parameter, PyObject *value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  const auto fixed = parameter.fixedType;
  if (overflow != 0) {
    if (overflow < 0 || fixed.value_or(DType::UInt64) != DType::UInt64)
      return false;
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    return addScalar(parameter, DType::UInt64, large, large % kAlignment == 0);
  }
  const bool isAligned = !PyBool_Check(value) && number % static_cast<int64_t>(kAlignment) == 0;
  if (fixed && isFloating(*fixed)) {
    uint64_t bits = 0;
    numeric::writeDouble(*fixed, static_cast<double>(number), &bits);
    return addScalar(parameter, *fixed, bits, /*isAligned=*/false);
  }
  if (!fixed && number == 1 && parameter.specializesOne)
    return key.addExact(value);
  if (!fixed)
    return addScalar(parameter,
                     number == static_cast<int32_t>(number) ? DType::Int32 : DType::Int64,
                     static_cast<uint64_t>(number), isAligned);
  if (!fits(number, *fixed) ||
      !addScalar(parameter, *fixed, static_cast<uint64_t>(number), isAligned))
    return false;
  // Kernels may know that it is 1, but not its type from that (runtime/alignment.py).
  return number != 1 || !parameter.specializesOne || key.add(makeWord(WordKind::Int, 1));
}

/// A descriptor made on the host: base, shape and strides at run time, block, padding, rounding and
/// a last stride of 1 constant, as in runtime/arguments.py.
bool LaunchArguments::addDescriptor(const LaunchParameter &parameter, PyObject *value) {
  const auto base = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().base));
  const auto padding = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().padding));
  const auto rounds = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().rounds));
  if (!base || !padding || !rounds) {
    PyErr_Clear();
    return false;
  }
  if (!torchTypes().isTensor(base.ptr()) || !PyUnicode_CheckExact(padding.ptr()) ||
      !PyBool_Check(rounds.ptr()))
    return false;
  const auto block = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().blockShape));
  const bool isNan = PyUnicode_CompareWithASCIIString(padding.ptr(), "nan") == 0;
  const uint64_t constants = isNan | static_cast<uint64_t>(rounds.ptr() == Py_True) << 1;
  if (!block || !PyList_CheckExact(block.ptr()) ||
      !key.add(makeWord(WordKind::Descriptor, constants)) || !key.addExact(block.ptr())) {
    PyErr_Clear();
    return false;
  }
  const auto addSize = [&](long long size, DType dtype) {
    const bool isAligned = size % static_cast<int64_t>(kAlignment) == 0;
    return fits(size, dtype) && addScalar(parameter, dtype, static_cast<uint64_t>(size), isAligned);
  };
  Py_ssize_t strides = 0;
  const auto addStride = [&](long long stride) { // the last one is compiled in
    return ++strides == PyList_GET_SIZE(block.ptr()) && stride == 1
               ? key.add(makeWord(WordKind::Int, 1))
               : addSize(stride, DType::Int64);
  };
  // The descriptor keeps its base alive, and the caller the descriptor.
  return addTensor(parameter, base.ptr(), value) &&
         forEachInt(value, names().shape,
                    [&](long long size) { return addSize(size, DType::Int32); }) &&
         forEachInt(value, names().strides, addStride);
}

void LaunchArguments::addAlignment() {
  constexpr size_t kBits = 64;
  for (size_t begin = 0; begin < runTime.size(); begin += kBits) {
    uint64_t bits = 0;
    for (size_t i = begin; i < std::min(runTime.size(), begin + kBits); ++i)
      bits |= static_cast<uint64_t>(runTime[i].isAligned) << (i - begin);
    key.add(bits);
  }
}

LaunchParameter parameterFrom(const py::tuple &tuple) {
  LaunchParameter parameter;
  PyObject *name = py::object(tuple[0]).release().ptr();
  PyUnicode_InternInPlace(&name);
  parameter.name = py::reinterpret_steal<py::object>(name);
  parameter.isConstexpr = tuple[1].cast<bool>();
  parameter.specializesOne = tuple[2].cast<bool>();
  parameter.specializesAlignment = tuple[3].cast<bool>();
  if (!tuple[4].is_none()) {
    const auto type = tuple[4].cast<std::string>();
    parameter.takesPointer = type == "*";
    if (!parameter.takesPointer)
      parameter.fixedType = parseDType(type);
  }
  if (tuple[5].cast<bool>())
    parameter.defaultValue = tuple[6];
  return parameter;
}

} // namespace blockscope::python
