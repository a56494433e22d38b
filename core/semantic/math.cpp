// Mathematical functions: element types they take, and the op each one is.
#include "core/semantic/semantic.h"

namespace blockscope {

Attributes Semantic::approximation(const Type &type) {
  return type.dtype == DType::Fp32 ? Attributes{{"fastmath", std::string("afn")}} : Attributes();
}

Value Semantic::elementwise(const OpFacts &op, llvm::ArrayRef<Operand> operands) {
  const ValueList values =
      operands.size() == 1 ? ValueList{toTensor(operands[0])} : promote(operands);
  if (failed())
    return {};
  const Type &type = values.front().type;
  const std::string found = (values.size() == 1 ? "x is " : "operands are ") + typeText(type);
  const int width = type.isPointer() ? 0 : bitWidth(type.dtype);
  switch (op.operands) {
  case Operands::Any:
    break;
  case Operands::Integers:
    if (!type.isInteger())
      return typeError(found + ", expected integers");
    break;
  case Operands::Signed:
    if (!type.isInteger() || !isSigned(type.dtype))
      return typeError(found + ", expected signed integers");
    break;
  case Operands::Unsigned:
    if (!type.isInteger() || isSigned(type.dtype))
      return typeError(found + ", expected unsigned integers");
    break;
  case Operands::WideIntegers:
    if (!type.isInteger() || width < 32)
      return typeError(found + ", expected 32- or 64-bit integers");
    break;
  case Operands::Floats:
    if (!type.isFloating())
      return typeError(found + ", expected floats");
    break;
  case Operands::Float32:
    if (!type.isFloating() || width != 32)
      return valueError(found + ", expected fp32");
    break;
  case Operands::WideFloats:
    if (!type.isFloating() || width < 32)
      return valueError(found + ", expected fp32 or fp64; convert it with .to(tl.float32)");
    break;
  case Operands::Pointers:
    if (!type.isPointer())
      return typeError(found + ", expected pointers");
    break;
  }
  return emit1(op.name, values, type, op.error.isIfMarked ? approximation(type) : Attributes());
}

Value Semantic::abs(const Operand &x) {
  const Value value = toTensor(x);
  if (failed())
    return {};
  if (value.type.dtype == DType::Fp8E4M3B15) { // as in Triton by its bits: it has no arithmetic
    const Value bits = bitcast(value, Type::get(DType::UInt8));
    return bitcast(binary(BinaryOp::And, bits, constant(0x7F, DType::UInt8)), value.type);
  }
  if (value.type.isFloating())
    return emit1("math.absf", {value}, value.type);
  if (!value.type.isInteger())
    return typeError("x is " + typeText(value.type) + ", expected numbers");
  return isSigned(value.type.dtype) ? emit1("math.absi", {value}, value.type) : value;
}

Value Semantic::fma(const Operand &x, const Operand &y, const Operand &z) {
  auto [a, b] = unify(x, y, {});
  auto [a2, c] = unify(a, z, {});
  auto [b2, c2] = unify(b, c, {});
  auto [a3, c3] = unify(a2, c2, {});
  if (failed())
    return {};
  if (!a3.type.isFloating())
    return typeError("operands are " + typeText(a3.type) + ", expected floats");
  return emit1("math.fma", {a3, b2, c3}, a3.type);
}

Value Semantic::sqrtRn(const Operand &x) {
  const Value value = toTensor(x);
  if (failed())
    return {};
  if (value.type.isPointer() || value.type.dtype != DType::Fp32)
    return valueError("x is " + typeText(value.type) + ", expected fp32");
  return emit1("math.sqrt", {value}, value.type);
}

Value Semantic::divRn(const Operand &x, const Operand &y) {
  auto [a, b] = unify(x, y, {.divides = true});
  if (failed())
    return {};
  if (a.type.dtype != DType::Fp32)
    return valueError("operands are " + typeText(a.type) + ", expected fp32");
  return emit1("arith.divf", {a, b}, a.type);
}

Value Semantic::externElementwise(const ExternFunction &function, llvm::ArrayRef<Value> arguments,
                                  const Type &result) {
  if (failed())
    return {};
  llvm::SmallVector<Value, 4> operands(arguments);
  for (size_t round = 0; round < 2; ++round) // the first one has the shape of all after one round
    for (size_t i = 1; i < operands.size() && !failed(); ++i)
      std::tie(operands[0], operands[i]) = broadcast(operands[0], operands[i]);
  if (failed())
    return {};
  Attributes attributes{{"symbol", function.symbol}};
  if (!function.libraries.empty()) {
    attributes.set("libraries", function.libraries);
    attributes.set("digest", function.digest);
  }
  const bool mayMove = function.isPure && !operands.empty();
  return emit1(mayMove ? "tl.extern_elementwise" : "tl.extern_elementwise_volatile", operands,
               operands.empty() ? result : result.withShape(operands[0].type.shape), attributes);
}

} // namespace blockscope
