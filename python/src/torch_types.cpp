// Learns torch's types when Python says that torch is in use, and reads its tensors.
#include "python/src/torch_types.h"

#include "python/src/made_once.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace blockscope::python {

namespace {

struct Names {
  PyObject *dtype = PyUnicode_InternFromString("dtype");
  PyObject *dataPtr = PyUnicode_InternFromString("data_ptr");
  PyObject *getDevice = PyUnicode_InternFromString("get_device");
  PyObject *isCpu = PyUnicode_InternFromString("is_cpu");
};

const Names &names() {
  static constinit MadeOnce<Names> made;
  return made.get();
}

/// The table of our version of DLPack in a capsule; null without one.
const Dlpack::ExchangeApi *exchangeFrom(const py::object &capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), Dlpack::kCapsule))
    return nullptr;
  const auto *api = static_cast<const Dlpack::ExchangeApi *>(
      PyCapsule_GetPointer(capsule.ptr(), Dlpack::kCapsule));
  while (api && api->majorVersion != Dlpack::kMajorVersion)
    api = api->older;
  return api && api->describe && api->currentStream ? api : nullptr;
}

/// `dtypes`: pairs of torch's dtype and the language's name of it. `exchange` is the capsule of
/// dlpack.h, or None.
void registerTorch(const py::type &tensor, const py::type &parameter,
                   const std::vector<std::pair<py::object, std::string>> &dtypes,
                   const py::object &currentRawStream, const py::object &exchange) {
  TorchTypes &types = torchTypes();
  types.tensor = reinterpret_cast<PyTypeObject *>(tensor.inc_ref().ptr());
  types.parameter = reinterpret_cast<PyTypeObject *>(parameter.inc_ref().ptr());
  types.currentRawStream = currentRawStream.is_none() ? nullptr : currentRawStream.inc_ref().ptr();
  types.exchange = exchangeFrom(exchange);
  types.dtypes.clear();
  for (const auto &[dtype, name] : dtypes)
    if (const std::optional<DType> known = parseDType(name))
      types.dtypes.emplace_back(dtype.inc_ref().ptr(), *known);
}

/// The element type of a tensor, or nothing for one that kernels do not have.
std::optional<DType> dtypeOfTensor(PyObject *tensor) {
  PyObject *dtype = PyObject_GetAttr(tensor, names().dtype);
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

/// Where a tensor is; nothing for a device that kernels do not run on.
std::optional<int> deviceOf(PyObject *tensor) {
  const auto number = numberFrom(tensor, names().getDevice);
  if (!number)
    return std::nullopt;
  const int device = static_cast<int>(*number);
  if (device >= 0)
    return device;
  // The device 'meta' has no number either.
  const auto isCpu = py::reinterpret_steal<py::object>(PyObject_GetAttr(tensor, names().isCpu));
  if (!isCpu)
    PyErr_Clear();
  return isCpu.ptr() == Py_True ? std::optional(TensorFacts::kCpu) : std::nullopt;
}

/// The element type that DLPack says. Nothing for integers of 8 bits: torch calls its types of
/// fewer bits so, too.
std::optional<DType> dtypeFrom(const Dlpack::Tensor &tensor) {
  if (tensor.lanes != 1)
    return std::nullopt;
  const unsigned code = tensor.code, bits = tensor.bits;
  switch (code << 8 | bits) {
  case Dlpack::kInt << 8 | 16:
    return DType::Int16;
  case Dlpack::kInt << 8 | 32:
    return DType::Int32;
  case Dlpack::kInt << 8 | 64:
    return DType::Int64;
  case Dlpack::kUInt << 8 | 16:
    return DType::UInt16;
  case Dlpack::kUInt << 8 | 32:
    return DType::UInt32;
  case Dlpack::kUInt << 8 | 64:
    return DType::UInt64;
  case Dlpack::kFloat << 8 | 16:
    return DType::Fp16;
  case Dlpack::kFloat << 8 | 32:
    return DType::Fp32;
  case Dlpack::kFloat << 8 | 64:
    return DType::Fp64;
  case Dlpack::kBfloat << 8 | 16:
    return DType::Bf16;
  case Dlpack::kBool << 8 | 8:
    return DType::Int1;
  case Dlpack::kFloat8E4M3Fn << 8 | 8:
    return DType::Fp8E4M3NV;
  case Dlpack::kFloat8E4M3FnUz << 8 | 8:
    return DType::Fp8E4M3B8;
  case Dlpack::kFloat8E5M2 << 8 | 8:
    return DType::Fp8E5M2;
  case Dlpack::kFloat8E5M2FnUz << 8 | 8:
    return DType::Fp8E5M2B16;
  default:
    return std::nullopt;
  }
}

/// Reads what DLPack says of a tensor; false where methods have to be asked.
bool readByExchange(const Dlpack::ExchangeApi &exchange, PyObject *tensor, TensorFacts &facts) {
  Dlpack::Tensor found;
  if (exchange.describe(tensor, &found) != 0) {
    PyErr_Clear();
    return false;
  }
  if (found.deviceType != Dlpack::kCuda && found.deviceType != Dlpack::kCpu)
    return false;
  auto dtype = dtypeFrom(found);
  if (!dtype)
    dtype = dtypeOfTensor(tensor);
  if (!dtype)
    return false;
  facts = {reinterpret_cast<uintptr_t>(found.data) + found.byteOffset,
           found.deviceType == Dlpack::kCuda ? found.device : TensorFacts::kCpu, *dtype};
  return true;
}

/// The value of a small int; nothing for anything else.
std::optional<int64_t> sizeFrom(PyObject *object) {
  int overflow = 1;
  const long long size =
      PyLong_CheckExact(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
  return overflow == 0 ? std::optional<int64_t>(size) : std::nullopt;
}

/// fits_descriptor(base, shape, strides, block_shape)
PyObject *fitsDescriptor(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
  constexpr Py_ssize_t kMostDimensions = 5;
  constexpr int64_t kAlignment = 16, kMostElements = int64_t{1} << 56;
  TensorFacts facts;
  bool isGood = count == 4 && torchTypes().isTensor(arguments[0]);
  for (Py_ssize_t i = 1; isGood && i < count; ++i)
    isGood = PyList_CheckExact(arguments[i]) &&
             PyList_GET_SIZE(arguments[i]) == PyList_GET_SIZE(arguments[1]);
  const Py_ssize_t rank = isGood ? PyList_GET_SIZE(arguments[1]) : 0;
  isGood = isGood && rank >= 1 && rank <= kMostDimensions && readTensor(arguments[0], facts) &&
           facts.address % kAlignment == 0;
  for (Py_ssize_t axis = 0; isGood && axis < rank; ++axis) {
    const auto stride = sizeFrom(PyList_GET_ITEM(arguments[2], axis));
    const auto block = sizeFrom(PyList_GET_ITEM(arguments[3], axis));
    isGood = stride && block && *block >= 1 && (*block & (*block - 1)) == 0;
    if (isGood && axis == rank - 1)
      isGood = *stride == 1;
    else if (isGood)
      isGood = *stride < kMostElements && *stride > -kMostElements &&
               *stride * byteSize(facts.dtype) % kAlignment == 0;
  }
  return PyBool_FromLong(isGood);
}

PyMethodDef descriptorMethods[] = {
    {"fits_descriptor",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&fitsDescriptor)), METH_FASTCALL,
     "fits_descriptor(base, shape, strides, block_shape): whether nothing is wrong with these "
     "lists "
     "in a descriptor of a torch tensor; False also where only Python can say."},
    {}};

} // namespace

TorchTypes &torchTypes() {
  static constinit MadeOnce<TorchTypes> made;
  return made.get();
}

bool readTensor(PyObject *tensor, TensorFacts &facts) {
  const Dlpack::ExchangeApi *exchange = torchTypes().exchange;
  if (exchange && readByExchange(*exchange, tensor, facts))
    return true;
  const auto dtype = dtypeOfTensor(tensor);
  const auto device = dtype ? deviceOf(tensor) : std::nullopt;
  const auto address = device ? numberFrom(tensor, names().dataPtr) : std::nullopt;
  if (!address)
    return false;
  facts = {*address, *device, *dtype};
  return true;
}

bool currentStream(int device, uint64_t &stream) {
  const TorchTypes &types = torchTypes();
  stream = 0;
  if (types.exchange) {
    void *current = nullptr;
    if (types.exchange->currentStream(Dlpack::kCuda, device, &current) != 0)
      return false;
    stream = reinterpret_cast<uintptr_t>(current);
    return true;
  }
  if (!types.currentRawStream)
    return true;
  const auto number = py::reinterpret_steal<py::object>(PyLong_FromLong(device));
  const auto result =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(types.currentRawStream, number.ptr()));
  if (!result)
    return false;
  stream = PyLong_AsUnsignedLongLongMask(result.ptr());
  return true;
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

void bindTorchTypes(py::module_ &module) {
  if (PyModule_AddFunctions(module.ptr(), descriptorMethods) != 0)
    throw py::error_already_set();
  module.def("register_torch", &registerTorch, py::arg("tensor"), py::arg("parameter"),
             py::arg("dtypes"), py::arg("current_raw_stream"), py::arg("exchange") = py::none());
  module.def(
      "read_tensor",
      [](const py::object &tensor) -> py::object {
        TensorFacts facts;
        if (!readTensor(tensor.ptr(), facts))
          return py::none();
        return py::make_tuple(facts.address, facts.device, languageName(facts.dtype).str());
      },
      "address, device (-1: the CPU) and dtype of a torch tensor as launches read them, or None");
}

} // namespace blockscope::python
