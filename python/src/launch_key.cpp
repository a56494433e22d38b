// Binds and classifies the arguments of a launch.
#include "python/src/launch_key.h"

#include "python/src/made_once.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace py = pybind11;

namespace blockscope::python {

namespace {

enum WordKind : uint64_t { kConstant = 1, kTensor, kScalar, kOne, kNone, kOption, kDescriptor };

constexpr uint64_t kAlignmentBytes = 16;
constexpr uint64_t kAlignedBit = 1 << 16;

uint64_t makeWord(WordKind kind, uint64_t code, bool aligned) {
  return kind | code << 8 | (aligned ? kAlignedBit : 0);
}

struct Names {
  PyObject *dtype = PyUnicode_InternFromString("dtype");
  PyObject *dataPtr = PyUnicode_InternFromString("data_ptr");
  PyObject *getDevice = PyUnicode_InternFromString("get_device");
  PyObject *base = PyUnicode_InternFromString("base");
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *strides = PyUnicode_InternFromString("strides");
  PyObject *blockShape = PyUnicode_InternFromString("block_shape");
  PyObject *padding = PyUnicode_InternFromString("padding");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// Types of objects that never change and have a hash: dtypes and functions of the language.
const std::array<PyTypeObject *, 2> &constantTypes() {
  static constinit MadeOnce<std::array<PyTypeObject *, 2>> made;
  return made.get([] {
    const py::object dtype = py::module_::import("blockscope.language.core").attr("float32");
    py::object function = py::module_::import("blockscope.runtime.jit").attr("JITFunction");
    return std::array{Py_TYPE(dtype.ptr()),
                      reinterpret_cast<PyTypeObject *>(function.release().ptr())};
  });
}

/// Constants that are compared by value here; other types take the slow way.
bool isPlainConstant(PyObject *value) {
  if (value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
      PyUnicode_CheckExact(value) || PyFloat_CheckExact(value))
    return true;
  return llvm::is_contained(constantTypes(), Py_TYPE(value));
}

bool addConstant(PyObject *value, LaunchKey &key) {
  return isPlainConstant(value) && key.add(kConstant, value);
}

/// -1 and a cleared error when a method of a tensor fails (a tensor without storage, say).
long long callForNumber(PyObject *object, PyObject *method, bool &failed) {
  PyObject *arguments[] = {object};
  PyObject *result =
      PyObject_VectorcallMethod(method, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) {
    PyErr_Clear();
    failed = true;
    return -1;
  }
  const auto number = static_cast<long long>(PyLong_AsUnsignedLongLongMask(result));
  Py_DECREF(result);
  return number;
}

/// `owner` is the argument, which lives as long as the launch: the tensor, or a descriptor of it.
bool addTensor(const LaunchParameter &parameter, PyObject *value, PyObject *owner, LaunchKey &key,
               bool acceptsCpu) {
  PyObject *dtype = PyObject_GetAttr(value, names().dtype);
  if (!dtype) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(dtype); // torch keeps its dtypes alive
  uint64_t code = 0;
  for (const auto &[known, number] : torchTypes().dtypes)
    if (known == dtype)
      code = number;
  bool failed = code == 0;
  const int device = static_cast<int>(callForNumber(value, names().getDevice, failed));
  if (failed || (device < 0 && !acceptsCpu))
    return false;
  if (key.device < 0)
    key.device = device;
  else if (key.device != device)
    return false;
  const auto address = static_cast<uint64_t>(callForNumber(value, names().dataPtr, failed));
  if (failed)
    return false;
  const bool aligned = parameter.specializesAlignment && address % kAlignmentBytes == 0;
  return key.add(makeWord(kTensor, code, aligned)) && key.addBits(address, owner);
}

bool fitsType(int64_t value, int code) {
  switch (code) {
  case I1:
    return value == 0 || value == 1;
  case I8:
    return value >= INT8_MIN && value <= INT8_MAX;
  case I16:
    return value >= INT16_MIN && value <= INT16_MAX;
  case I32:
    return value >= INT32_MIN && value <= INT32_MAX;
  case U8:
    return value >= 0 && value <= UINT8_MAX;
  case U16:
    return value >= 0 && value <= UINT16_MAX;
  case U32:
    return value >= 0 && value <= UINT32_MAX;
  case U64:
    return value >= 0;
  default:
    return true;
  }
}

bool addScalar(int code, uint64_t bits, bool aligned, LaunchKey &key) {
  return key.add(makeWord(kScalar, static_cast<uint64_t>(code), aligned)) && key.addBits(bits);
}

bool addFloat(const LaunchParameter &parameter, double value, LaunchKey &key) {
  if (parameter.fixedType == F64) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return addScalar(F64, bits, false, key);
  }
  if (parameter.fixedType >= 0 && parameter.fixedType != F32)
    return false;
  const auto narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(narrow));
  return addScalar(F32, bits, false, key);
}

bool addInt(const LaunchParameter &parameter, PyObject *value, LaunchKey &key) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  const int fixed = parameter.fixedType;
  if (fixed == F32 || fixed == F64)
    return overflow == 0 && addFloat(parameter, static_cast<double>(number), key);
  if (overflow != 0) {
    if (overflow < 0 || (fixed >= 0 && fixed != U64))
      return false;
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    const bool aligned = parameter.specializesAlignment && large % kAlignmentBytes == 0;
    return addScalar(U64, large, aligned, key);
  }
  if (fixed < 0 && number == 1 && parameter.specializesOne)
    return key.add(kOne);
  int code = fixed;
  if (code < 0)
    code = fitsType(number, I32) ? I32 : fitsType(number, U32) ? U32 : I64;
  const bool aligned = parameter.specializesAlignment && number % kAlignmentBytes == 0;
  return fitsType(number, code) && addScalar(code, static_cast<uint64_t>(number), aligned, key);
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

/// A descriptor made on the host: base, shape and strides at run time, block, padding and a last
/// stride of 1 constant, as in blockscope/runtime/arguments.py.
bool addDescriptor(const LaunchParameter &parameter, PyObject *value, LaunchKey &key,
                   bool acceptsCpu) {
  const auto base = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().base));
  const auto padding = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, names().padding));
  if (!base || !padding) {
    PyErr_Clear();
    return false;
  }
  PyTypeObject *type = Py_TYPE(base.ptr());
  if ((type != torchTypes().tensor && type != torchTypes().parameter) ||
      !PyUnicode_CheckExact(padding.ptr()))
    return false;
  const bool isNan = PyUnicode_CompareWithASCIIString(padding.ptr(), "nan") == 0;
  int rank = 0;
  const auto takeAs = [&](ScalarCode code) {
    return [&key, &parameter, code](long long number) {
      const bool aligned = parameter.specializesAlignment && number % kAlignmentBytes == 0;
      return fitsType(number, code) && addScalar(code, static_cast<uint64_t>(number), aligned, key);
    };
  };
  const auto takeStride = [&, seen = 0](long long number) mutable {
    // The last one is compiled in.
    return ++seen == rank && number == 1 ? key.add(kOne) : takeAs(I64)(number);
  };
  return key.add(makeWord(kDescriptor, isNan, false)) &&
         forEachInt(value, names().blockShape,
                    [&](long long size) {
                      ++rank;
                      return key.add(makeWord(kDescriptor, 2, false) | static_cast<uint64_t>(size)
                                                                           << 17);
                    }) &&
         addTensor(parameter, base.ptr(), value, key, acceptsCpu) &&
         forEachInt(value, names().shape, takeAs(I32)) &&
         forEachInt(value, names().strides, takeStride);
}

bool addRunTime(const LaunchParameter &parameter, PyObject *value, LaunchKey &key,
                bool acceptsCpu) {
  if (parameter.isUnusual)
    return false;
  PyTypeObject *type = Py_TYPE(value);
  if (type == torchTypes().tensor || type == torchTypes().parameter)
    return addTensor(parameter, value, value, key, acceptsCpu);
  if (PyBool_Check(value))
    return parameter.fixedType < 0 || parameter.fixedType == I1
               ? addScalar(I1, value == Py_True, false, key)
               : addInt(parameter, value, key);
  if (PyLong_CheckExact(value))
    return addInt(parameter, value, key);
  if (PyFloat_CheckExact(value))
    return addFloat(parameter, PyFloat_AS_DOUBLE(value), key);
  if (value == Py_None)
    return key.add(kNone);
  return type == descriptorType() && addDescriptor(parameter, value, key, acceptsCpu);
}

/// Finds a keyword among the parameters; mostly the very same interned string.
size_t findParameter(const std::vector<LaunchParameter> &parameters, PyObject *name) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name)
      return i;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (PyUnicode_Compare(parameters[i].name, name) == 0)
      return i;
  return parameters.size();
}

} // namespace

bool LaunchKey::add(uint64_t word, PyObject *object) {
  if (size == kMaxKeyWords)
    return false;
  words[size] = word;
  objects[size++] = object;
  return true;
}

bool LaunchKey::addBits(uint64_t value, PyObject *owner) {
  if (bitsCount == kMaxKeyWords)
    return false;
  owners[bitsCount] = owner;
  bits[bitsCount++] = value;
  return true;
}

uint64_t LaunchKey::hash() const {
  uint64_t result = 0x9E3779B97F4A7C15u + static_cast<uint64_t>(device);
  for (size_t i = 0; i < size; ++i) {
    uint64_t word = words[i];
    if (objects[i])
      word ^= static_cast<uint64_t>(PyObject_Hash(objects[i])) << 8;
    result = (result ^ word) * 0xFF51AFD7ED558CCDu;
    result ^= result >> 32;
  }
  return result;
}

TorchTypes &torchTypes() {
  static constinit MadeOnce<TorchTypes> made;
  return made.get();
}

bool bindArguments(const std::vector<LaunchParameter> &parameters, PyObject *const *arguments,
                   size_t count, PyObject *keywords, LaunchKey &key) {
  if (count > parameters.size() || parameters.size() > kMaxKeyWords)
    return false;
  for (size_t i = 0; i < parameters.size(); ++i)
    key.values[i] = i < count ? arguments[i] : nullptr;
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject *name = PyTuple_GET_ITEM(keywords, i);
    PyObject *value = arguments[count + static_cast<size_t>(i)];
    const size_t index = findParameter(parameters, name);
    if (index == parameters.size()) {
      if (key.optionCount == kMaxKeyWords || !isPlainConstant(value))
        return false;
      key.options[key.optionCount++] = {name, value};
    } else if (key.values[index]) {
      return false; // two values for one parameter
    } else {
      key.values[index] = value;
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!key.values[i])
      key.values[i] = parameters[i].defaultValue;
    if (!key.values[i])
      return false;
  }
  return true;
}

bool classifyArguments(const std::vector<LaunchParameter> &parameters, LaunchKey &key,
                       bool acceptsCpu) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    PyObject *value = key.values[i];
    if (parameters[i].isConstexpr ? !addConstant(value, key)
                                  : !addRunTime(parameters[i], value, key, acceptsCpu))
      return false;
  }
  for (size_t i = 0; i < key.optionCount; ++i)
    if (!key.add(kOption, key.options[i].first) || !key.add(kConstant, key.options[i].second))
      return false;
  return true;
}

bool isSameConstant(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b))
    return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof(x)) == 0;
  }
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

} // namespace blockscope::python
