// From the types of the language to the element types of the kernels.
#include "interpreter/ops/element_type.h"

namespace blockscope::interpreter {

std::optional<ElementType> elementTypeOf(const Type &type) {
  if (type.isPointer())
    return ElementType::I64;
  switch (storageDType(type.dtype)) {
  case DType::Int1:
    return ElementType::I1;
  case DType::Int8:
    return ElementType::I8;
  case DType::Int16:
    return ElementType::I16;
  case DType::Int32:
    return ElementType::I32;
  case DType::Int64:
    return ElementType::I64;
  case DType::Fp8E4M3NV:
    return ElementType::F8E4M3NV;
  case DType::Fp8E4M3B8:
    return ElementType::F8E4M3B8;
  case DType::Fp8E4M3B15:
    return ElementType::F8E4M3B15;
  case DType::Fp8E5M2:
    return ElementType::F8E5M2;
  case DType::Fp8E5M2B16:
    return ElementType::F8E5M2B16;
  case DType::Fp16:
    return ElementType::F16;
  case DType::Bf16:
    return ElementType::BF16;
  case DType::Fp32:
    return ElementType::F32;
  case DType::Fp64:
    return ElementType::F64;
  case DType::Void:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
    break;
  }
  return std::nullopt;
}

ElementType moverOf(int elementBytes) {
  switch (elementBytes) {
  case 1:
    return ElementType::I8;
  case 2:
    return ElementType::I16;
  case 4:
    return ElementType::I32;
  }
  return ElementType::I64;
}

std::string unsupported(const OpSignature &signature) {
  std::string text = signature.name.str() + " of ";
  for (size_t i = 0; i < signature.operands.size(); ++i)
    text += (i ? ", " : "") + signature.operands[i].scalar().str();
  if (signature.operands.empty())
    text += "no operands";
  for (const Type &result : signature.results)
    text += " to " + result.scalar().str();
  return text + " is not supported";
}

EvaluatorOrError elementwiseOr(ElementKernel kernel, const OpSignature &signature) {
  if (!kernel)
    return {{}, unsupported(signature)};
  return {Evaluator::makeElementwise(kernel), {}};
}

EvaluatorOrError chooseElement(const OpSignature &signature, ElementOp op, int operand) {
  if (static_cast<size_t>(operand) >= signature.operands.size())
    return {{}, unsupported(signature)};
  const auto type = elementTypeOf(signature.operands[operand]);
  if (!type)
    return {{}, unsupported(signature)};
  return elementwiseOr(kernels().element[static_cast<int>(op)][static_cast<int>(*type)], signature);
}

} // namespace blockscope::interpreter
