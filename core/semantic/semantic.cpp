// Errors, numbers and the emitting of ops: what all other parts of the rule book use.
#include "core/semantic/semantic.h"

#include <cmath>
#include <limits>

namespace blockscope {

//===-- Numbers -----------------------------------------------------------------------------===//

Scalar Scalar::ofBool(bool value) { return {Kind::Bool, false, value ? 1 : 0, value ? 1.0 : 0.0}; }

Scalar Scalar::ofInt(int64_t value) {
  return {Kind::Int, false, value, static_cast<double>(value)};
}

Scalar Scalar::ofUInt(uint64_t value) {
  return {Kind::Int, value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
          static_cast<int64_t>(value), static_cast<double>(value)};
}

Scalar Scalar::ofFloat(double value) { return {Kind::Float, false, 0, value}; }

std::string Scalar::str() const {
  switch (kind) {
  case Kind::Bool:
    return integer ? "True" : "False";
  case Kind::Int:
    return isUnsigned64 ? std::to_string(static_cast<uint64_t>(integer)) : std::to_string(integer);
  case Kind::Float:
    return std::to_string(number);
  }
  return "";
}

DType literalDType(const Scalar &scalar) {
  switch (scalar.kind) {
  case Scalar::Kind::Bool:
    return DType::Int1;
  case Scalar::Kind::Float: {
    const double size = std::fabs(scalar.number);
    const bool isSingle =
        size == 0 || !std::isfinite(size) ||
        (size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max());
    return isSingle ? DType::Fp32 : DType::Fp64;
  }
  case Scalar::Kind::Int:
    break;
  }
  if (scalar.isUnsigned64)
    return DType::UInt64;
  if (scalar.integer >= std::numeric_limits<int32_t>::min() &&
      scalar.integer <= std::numeric_limits<int32_t>::max())
    return DType::Int32;
  if (scalar.integer > 0 && scalar.integer <= std::numeric_limits<uint32_t>::max())
    return DType::UInt32;
  return DType::Int64;
}

//===-- Text --------------------------------------------------------------------------------===//

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string typeText(const Type &type) {
  std::string text = type.scalar().str();
  return type.isBlock() ? text + shapeText(type.shape) : text;
}

//===-- Errors ------------------------------------------------------------------------------===//

void Semantic::begin(llvm::StringRef op) {
  op_.assign(op.data(), op.size());
  error_.reset();
}

Value Semantic::record(SemanticError::Kind kind, const llvm::Twine &sentence,
                       const llvm::Twine &details) {
  if (!error_)
    error_ = SemanticError{kind, (op_.empty() ? "" : op_ + ": ") + (sentence + details).str(),
                           sentence.str()};
  return {};
}

Value Semantic::typeError(const llvm::Twine &sentence, const llvm::Twine &details) {
  return record(SemanticError::Kind::Type, sentence, details);
}

Value Semantic::valueError(const llvm::Twine &sentence, const llvm::Twine &details) {
  return record(SemanticError::Kind::Value, sentence, details);
}

bool Semantic::checkOneOf(llvm::StringRef argument, llvm::StringRef found,
                          llvm::ArrayRef<llvm::StringRef> allowed) {
  if (llvm::is_contained(allowed, found))
    return true;
  std::string list;
  for (llvm::StringRef one : allowed)
    list += (list.empty() ? "'" : ", '") + one.str() + "'";
  valueError(llvm::Twine(argument) + " is '" + found + "', expected one of " + list);
  return false;
}

//===-- Emitting ----------------------------------------------------------------------------===//

bool Semantic::checkInMap(llvm::StringRef name) {
  const OpFacts *facts = maps_ == 0 ? nullptr : findOpFacts(name);
  if (facts && facts->memory != OpMemory::None)
    valueError("the function of tl.map_elementwise may not access memory, print or assert");
  return !failed();
}

Value Semantic::emit1(llvm::StringRef name, llvm::ArrayRef<Value> operands, const Type &result,
                      const Attributes &attributes) {
  ValueList results = emitAll(name, operands, result, attributes);
  return results.empty() ? Value() : std::move(results.front());
}

ValueList Semantic::emitAll(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                            llvm::ArrayRef<Type> types, const Attributes &attributes) {
  if (failed() || !checkInMap(name))
    return {};
  ValueList results = emitter_.emit({name, operands, attributes, types});
  for (size_t i = 0; i < results.size() && i < types.size(); ++i) {
    Type &type = results[i].type; // the emitter may know the storage type only
    if (type.shape == types[i].shape)
      type.dtype = types[i].dtype;
    else
      type = types[i];
  }
  return results;
}

void Semantic::emit0(llvm::StringRef name, llvm::ArrayRef<Value> operands,
                     const Attributes &attributes) {
  if (!failed() && checkInMap(name))
    emitter_.emit({name, operands, attributes, {}});
}

//===-- Constants ---------------------------------------------------------------------------===//

bool Semantic::numberFits(const Scalar &scalar, DType dtype) {
  if (scalar.kind == Scalar::Kind::Float || !isInteger(dtype))
    return true;
  const int bits = bitWidth(dtype);
  if (isUnsigned(dtype))
    return !scalar.isNegativeInt() &&
           (bits == 64 || (!scalar.isUnsigned64 && scalar.integer < (int64_t{1} << bits)));
  if (scalar.isUnsigned64)
    return false;
  return bits == 64 || (scalar.integer >= -(int64_t{1} << (bits - 1)) &&
                        scalar.integer < (int64_t{1} << (bits - 1)));
}

Value Semantic::constant(const Scalar &scalar, DType dtype) {
  if (failed())
    return {};
  const Type type = Type::get(dtype);
  Value value;
  if (isFp8(dtype)) // rounded by the one conversion that both executors share
    return cast(constant(scalar, DType::Fp32), dtype);
  if (isFloating(dtype))
    value = emitter_.floatConstant(type, scalar.number);
  else if (scalar.kind == Scalar::Kind::Float)
    value = emitter_.intConstant(type, static_cast<int64_t>(scalar.number));
  else
    value = emitter_.intConstant(type, scalar.integer);
  value.type = type;
  return value;
}

Value Semantic::toTensor(const Operand &operand) {
  if (operand.isValue())
    return operand.value;
  return constant(operand.scalar, literalDType(operand.scalar));
}

Value Semantic::full(llvm::ArrayRef<int64_t> shape, const Operand &value,
                     std::optional<DType> dtype) {
  if (!checkBlockShape(shape))
    return {};
  Value scalar;
  if (value.isValue()) {
    if (value.value.type.isBlock() && value.value.type.numElements() != 1)
      return valueError("value is a block " + typeText(value.value.type) + ", expected a scalar");
    scalar = value.value.type.isBlock() ? unsplat(value.value) : value.value;
    if (dtype)
      scalar = cast(scalar, *dtype);
  } else {
    if (!dtype)
      return valueError("dtype must be given when value is a Python number");
    if (isInteger(*dtype) && *dtype != DType::Int1 && !numberFits(value.scalar, *dtype))
      return valueError("value " + value.scalar.str() + " is out of range for " +
                        dtypeName(*dtype));
    Scalar number = value.scalar;
    if (*dtype == DType::Int1)
      number = Scalar::ofBool(number.number != 0);
    scalar = constant(number, *dtype);
  }
  return shape.empty() ? scalar : splat(scalar, shape);
}

Value Semantic::zerosLike(const Value &x) {
  if (x.type.isPointer())
    return typeError("there is no zero of type " + typeText(x.type));
  return full(x.type.shape, Scalar::ofInt(0), x.type.dtype);
}

} // namespace blockscope
