// `tl.tensor`: operators as CPython slots, attributes, and the reading of stepped values.
#include "python/src/tensor.h"

#include "core/numeric/scalar.h"
#include "interpreter/block.h"
#include "python/src/current_emitter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace py = pybind11;

namespace blockscope::python {

PyTypeObject *tensorType = nullptr;

namespace {

//===-- From and to Python ------------------------------------------------------------------===//

/// Runs `body`, which may throw, at the border to C.
template <typename Body> PyObject *guarded(Body body) {
  try {
    return body();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (py::builtin_exception &error) {
    error.set_error();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

} // namespace

py::object wrapValue(Value value) {
  PyObject *object = tensorType->tp_alloc(tensorType, 0);
  if (!object)
    throw py::error_already_set();
  auto *tensor = reinterpret_cast<TensorObject *>(object);
  new (&tensor->value) Value(std::move(value));
  const Emitter *emitter = currentEmitterOrNull();
  tensor->isStepped = emitter && emitter->isStepping();
  return py::reinterpret_steal<py::object>(object);
}

void finishOp(Semantic &semantic) {
  if (semantic.failed()) {
    const SemanticError &error = semantic.error();
    const bool isType = error.kind == SemanticError::Kind::Type;
    const py::handle type = isType ? PyExc_TypeError : PyExc_ValueError;
    const py::object exception = type(error.message);
    exception.attr("sentence") = error.sentence; // for frontend/diagnose.py
    PyErr_SetObject(type.ptr(), exception.ptr());
    throw py::error_already_set();
  }
  runAfterOp();
}

namespace {

//===-- Operators ---------------------------------------------------------------------------===//

template <typename Emit>
PyObject *emitBinary(const char *op, PyObject *lhs, PyObject *rhs, Emit emit) {
  return guarded([&]() -> PyObject * {
    Operand left, right;
    if (!toOperand(lhs, left) || !toOperand(rhs, right))
      return Py_NewRef(Py_NotImplemented);
    Semantic &semantic = currentSemantic(op);
    Value result = emit(semantic, left, right);
    finishOp(semantic);
    return wrapValue(std::move(result)).release().ptr();
  });
}

template <BinaryOp Op> PyObject *binarySlot(PyObject *lhs, PyObject *rhs) {
  static constexpr const char *kNames[] = {"operator +",  "operator -",  "operator *", "operator /",
                                           "operator //", "operator %",  "operator &", "operator |",
                                           "operator ^",  "operator <<", "operator >>"};
  return emitBinary(kNames[static_cast<int>(Op)], lhs, rhs,
                    [](Semantic &semantic, const Operand &left, const Operand &right) {
                      return semantic.binaryChecked(Op, left, right);
                    });
}

PyObject *powerSlot(PyObject *, PyObject *, PyObject *) {
  PyErr_SetString(PyExc_TypeError, "operator **: only for constexpr values; for tensors use "
                                   "tl.exp2(y * tl.log2(x)) or libdevice.pow");
  return nullptr;
}

PyObject *matmulSlot(PyObject *, PyObject *) {
  PyErr_SetString(PyExc_TypeError, "operator @: use tl.dot");
  return nullptr;
}

PyObject *compareSlot(PyObject *lhs, PyObject *rhs, int operation) {
  static constexpr const char *kNames[] = {
      "operator <", "operator <=", "operator ==", "operator !=", "operator >", "operator >="};
  static constexpr CompareOp kOps[] = {CompareOp::Less,    CompareOp::LessEqual,
                                       CompareOp::Equal,   CompareOp::NotEqual,
                                       CompareOp::Greater, CompareOp::GreaterEqual};
  return emitBinary(kNames[operation], lhs, rhs,
                    [&](Semantic &semantic, const Operand &left, const Operand &right) {
                      return semantic.compare(kOps[operation], left, right);
                    });
}

template <Value (Semantic::*Method)(const Operand &)>
PyObject *emitUnary(const char *op, PyObject *operand) {
  return guarded([&]() -> PyObject * {
    Semantic &semantic = currentSemantic(op);
    Value result = (semantic.*Method)(valueOf(operand));
    finishOp(semantic);
    return wrapValue(std::move(result)).release().ptr();
  });
}

PyObject *negateSlot(PyObject *x) { return emitUnary<&Semantic::negate>("operator -", x); }
PyObject *plusSlot(PyObject *x) { return Py_NewRef(x); }
PyObject *invertSlot(PyObject *x) { return emitUnary<&Semantic::invert>("operator ~", x); }
PyObject *absSlot(PyObject *x) { return emitUnary<&Semantic::abs>("tl.abs", x); }

//===-- Indexing ----------------------------------------------------------------------------===//

PyObject *subscriptSlot(PyObject *self, PyObject *key) {
  return guarded([&]() -> PyObject * {
    Semantic &semantic = currentSemantic("operator []");
    py::object keys = unwrapConstexpr(key);
    if (!py::isinstance<py::tuple>(keys) && !py::isinstance<py::list>(keys))
      keys = py::make_tuple(keys);
    Value result = valueOf(self);
    // A scalar has no dimension that a ':' could stand for, so there it stands for nothing: kernels
    // index an accumulator by [None, :] whether it was reduced to a scalar or not.
    const int64_t rank = result.type.rank();
    int64_t at = 0, used = 0;
    for (py::handle item : keys) {
      const py::object one = unwrapConstexpr(item);
      if (one.is_none()) {
        result = semantic.expandDims(result, at++);
        continue;
      }
      const bool isFull = PySlice_Check(one.ptr()) && one.attr("start").is_none() &&
                          one.attr("stop").is_none() && one.attr("step").is_none();
      if (!isFull)
        semantic.valueError("unsupported tensor index: " + py::repr(one).cast<std::string>() +
                            "; only None and : are supported");
      if (rank == 0)
        continue;
      ++at;
      if (++used > rank)
        semantic.valueError("too many indices for " + typeText(valueOf(self).type));
    }
    finishOp(semantic);
    return wrapValue(std::move(result)).release().ptr();
  });
}

int assignSlot(PyObject *, PyObject *, PyObject *) {
  PyErr_SetString(PyExc_TypeError,
                  "operator []: elements of a tensor cannot be assigned; use tl.where or tl.store");
  return -1;
}

//===-- Values, when stepping ---------------------------------------------------------------===//

const interpreter::Block &blockOf(PyObject *self, const char *what) {
  const auto *tensor = reinterpret_cast<TensorObject *>(self);
  if (!tensor->isStepped || !tensor->value)
    throw py::type_error(std::string(what) +
                         " of a tensor: its value is not known while the kernel "
                         "is compiled; it is in step mode (TRITON_INTERPRET=1)");
  return *static_cast<const interpreter::Block *>(tensor->value.handle.get());
}

[[noreturn]] void throwOfBlock(const std::string &message) {
  const py::object type = py::module_::import("blockscope.errors").attr("BlockValueError");
  PyErr_SetString(type.ptr(), message.c_str());
  throw py::error_already_set();
}

/// Returns a pointer's bits as Python is shown them: the address that it stands for.
///
/// Errors: RuntimeError outside of kernels.
uint64_t shownBits(uint64_t pointer) {
  if (const Emitter *emitter = currentEmitterOrNull())
    return emitter->integerOf(pointer);
  throw std::runtime_error("the address of a pointer is known only inside its kernel");
}

/// Copies the one element of a block.
std::array<std::byte, 8> onlyElement(PyObject *self, const char *what) {
  const interpreter::Block &block = blockOf(self, what);
  if (valueOf(self).type.numElements() != 1)
    throwOfBlock(std::string(what) + " of a block of shape " + shapeText(valueOf(self).type.shape) +
                 " is ambiguous; a block has no single value, reduce it first (tl.max, tl.sum) or "
                 "choose with tl.where");
  if (Emitter *emitter = currentEmitterOrNull())
    emitter->noteDecision(valueOf(self));
  alignas(8) std::array<std::byte, 8> element = {};
  std::memcpy(element.data(), block.data, valueOf(self).type.elementBytes());
  if (valueOf(self).type.isPointer())
    element = std::bit_cast<std::array<std::byte, 8>>(shownBits(std::bit_cast<uint64_t>(element)));
  return element;
}

DType dtypeOfElement(const Type &type) { return type.isPointer() ? DType::UInt64 : type.dtype; }

int boolSlot(PyObject *self) {
  int result = -1;
  guarded([&]() -> PyObject * {
    const auto element = onlyElement(self, "bool()");
    const DType dtype = dtypeOfElement(valueOf(self).type);
    result = isFloating(dtype) ? numeric::readAsDouble(dtype, element.data()) != 0
                               : numeric::readAsInt(dtype, element.data()) != 0;
    return nullptr;
  });
  return result;
}

PyObject *readInt(DType dtype, const void *element) {
  const int64_t value = numeric::readAsInt(dtype, element);
  return dtype == DType::UInt64 ? PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value))
                                : PyLong_FromLongLong(value);
}

PyObject *indexSlot(PyObject *self) {
  return guarded([&]() -> PyObject * {
    const DType dtype = dtypeOfElement(valueOf(self).type);
    if (isFloating(dtype))
      throw py::type_error("a tensor of " + dtypeName(dtype).str() +
                           " cannot be used as an integer index");
    return readInt(dtype, onlyElement(self, "int()").data());
  });
}

PyObject *floatSlot(PyObject *self) {
  return guarded([&]() -> PyObject * {
    const auto element = onlyElement(self, "float()");
    const DType dtype = dtypeOfElement(valueOf(self).type);
    return PyFloat_FromDouble(numeric::readAsDouble(dtype, element.data()));
  });
}

PyObject *intSlot(PyObject *self) {
  if (!valueOf(self).type.isFloating())
    return indexSlot(self);
  const py::object number = py::reinterpret_steal<py::object>(floatSlot(self));
  return number ? PyNumber_Long(number.ptr()) : nullptr;
}

//===-- Attributes --------------------------------------------------------------------------===//

py::object methodNamed(const char *name) {
  return py::module_::import("blockscope.language.core").attr(name);
}

PyObject *reprSlot(PyObject *self) {
  return guarded([&]() -> PyObject * {
    if (reinterpret_cast<TensorObject *>(self)->isStepped)
      return methodNamed("tensor_repr")(py::handle(self)).release().ptr();
    return py::str("tensor<" + typeText(valueOf(self).type) + ">").release().ptr();
  });
}

PyObject *newSlot(PyTypeObject *, PyObject *, PyObject *) {
  PyErr_SetString(PyExc_TypeError,
                  "tl.tensor makes no values; write the number itself, or tl.full for a block");
  return nullptr;
}

void deallocSlot(PyObject *self) {
  valueOf(self).~Value();
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

Py_hash_t hashSlot(PyObject *self) { return PyBaseObject_Type.tp_hash(self); }

template <typename Get> PyObject *attribute(PyObject *self, Get get) {
  return guarded([&]() -> PyObject * { return get(self).release().ptr(); });
}

PyObject *getType(PyObject *self, void *) {
  return attribute(self, [](PyObject *self) { return typeToPython(valueOf(self).type); });
}

PyObject *getDType(PyObject *self, void *) {
  return attribute(self, [](PyObject *self) { return typeToPython(valueOf(self).type.scalar()); });
}

PyObject *getShape(PyObject *self, void *) {
  return attribute(self, [](PyObject *self) {
    const Type &type = valueOf(self).type;
    py::tuple shape(type.shape.size());
    for (size_t i = 0; i < type.shape.size(); ++i)
      shape[i] = makeConstexpr(py::int_(type.shape[i]));
    return methodNamed("tuple")(std::move(shape));
  });
}

PyObject *getNumel(PyObject *self, void *) {
  return attribute(self, [](PyObject *self) {
    return makeConstexpr(py::int_(valueOf(self).type.numElements()));
  });
}

PyObject *getTransposed(PyObject *self, void *) {
  return guarded([&]() -> PyObject * {
    Semantic &semantic = currentSemantic("tensor.T");
    if (valueOf(self).type.rank() != 2)
      semantic.valueError("x is " + typeText(valueOf(self).type) + ", expected 2 dimensions");
    Value result = semantic.trans(valueOf(self));
    finishOp(semantic);
    return wrapValue(std::move(result)).release().ptr();
  });
}

PyObject *getHandle(PyObject *self, void *) { return Py_NewRef(self); }

PyObject *getData(PyObject *self, void *) {
  return attribute(self,
                   [](PyObject *self) { return methodNamed("tensor_numpy")(py::handle(self)); });
}

PyObject *getIsStepped(PyObject *self, void *) {
  return PyBool_FromLong(reinterpret_cast<TensorObject *>(self)->isStepped);
}

PyObject *rawBytes(PyObject *self, PyObject *) {
  return guarded([&]() -> PyObject * {
    const interpreter::Block &block = blockOf(self, "the elements");
    const Type &type = valueOf(self).type;
    if (type.isPointer()) {
      const auto *pointers = static_cast<const uint64_t *>(block.data);
      std::vector<uint64_t> shown(static_cast<size_t>(type.numElements()));
      std::transform(pointers, pointers + shown.size(), shown.begin(), shownBits);
      return PyBytes_FromStringAndSize(reinterpret_cast<const char *>(shown.data()),
                                       type.numElements() * type.elementBytes());
    }
    return PyBytes_FromStringAndSize(static_cast<const char *>(block.data),
                                     type.numElements() * type.elementBytes());
  });
}

PyGetSetDef getSets[] = {
    {"type", getType, nullptr, "the type: a dtype, a pointer_type or a block_type", nullptr},
    {"dtype", getDType, nullptr, "the type of one element", nullptr},
    {"shape", getShape, nullptr, "sizes of the dimensions, a tuple of constexpr", nullptr},
    {"numel", getNumel, nullptr, "number of elements, a constexpr", nullptr},
    {"T", getTransposed, nullptr, "the transposed block (two dimensions)", nullptr},
    {"handle", getHandle, nullptr, "this tensor", nullptr},
    {"data", getData, nullptr, "the elements as a numpy array (step mode)", nullptr},
    {"_is_stepped", getIsStepped, nullptr, "whether the value is known now", nullptr},
    {}};

PyMethodDef methods[] = {
    {"_bytes", rawBytes, METH_NOARGS, "the elements as bytes, row-major (step mode)"}, {}};

template <typename Function> void *slot(Function *function) {
  return reinterpret_cast<void *>(function);
}

PyType_Slot slots[] = {
    {Py_nb_add, slot(binarySlot<BinaryOp::Add>)},
    {Py_nb_subtract, slot(binarySlot<BinaryOp::Sub>)},
    {Py_nb_multiply, slot(binarySlot<BinaryOp::Mul>)},
    {Py_nb_true_divide, slot(binarySlot<BinaryOp::TrueDiv>)},
    {Py_nb_floor_divide, slot(binarySlot<BinaryOp::FloorDiv>)},
    {Py_nb_remainder, slot(binarySlot<BinaryOp::Mod>)},
    {Py_nb_and, slot(binarySlot<BinaryOp::And>)},
    {Py_nb_or, slot(binarySlot<BinaryOp::Or>)},
    {Py_nb_xor, slot(binarySlot<BinaryOp::Xor>)},
    {Py_nb_lshift, slot(binarySlot<BinaryOp::Shl>)},
    {Py_nb_rshift, slot(binarySlot<BinaryOp::Shr>)},
    {Py_nb_power, slot(powerSlot)},
    {Py_nb_matrix_multiply, slot(matmulSlot)},
    {Py_nb_negative, slot(negateSlot)},
    {Py_nb_positive, slot(plusSlot)},
    {Py_nb_invert, slot(invertSlot)},
    {Py_nb_absolute, slot(absSlot)},
    {Py_nb_bool, slot(boolSlot)},
    {Py_nb_index, slot(indexSlot)},
    {Py_nb_int, slot(intSlot)},
    {Py_nb_float, slot(floatSlot)},
    {Py_tp_richcompare, slot(compareSlot)},
    {Py_tp_hash, slot(hashSlot)},
    {Py_mp_subscript, slot(subscriptSlot)},
    {Py_mp_ass_subscript, slot(assignSlot)},
    {Py_tp_repr, slot(reprSlot)},
    {Py_tp_new, slot(newSlot)},
    {Py_tp_dealloc, slot(deallocSlot)},
    {Py_tp_getset, getSets},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char *>("A value of the kernel: a scalar or a block of elements.")},
    {0, nullptr}};

PyType_Spec spec = {"blockscope.language.tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT,
                    slots};

} // namespace

void bindTensor(py::module_ &module) {
  tensorType = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  if (!tensorType)
    throw py::error_already_set();
  module.attr("tensor") = py::handle(reinterpret_cast<PyObject *>(tensorType));
}

} // namespace blockscope::python
