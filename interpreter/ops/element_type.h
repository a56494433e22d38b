// From the types of the language to the element types of the kernels.
#pragma once

#include "interpreter/evaluator.h"
#include "interpreter/simd/kernels.h"

#include <optional>

namespace blockscope::interpreter {

/// Returns the element type, I64 for pointers; nothing for void.
std::optional<ElementType> elementTypeOf(const Type &type);

/// Returns the integer that moves an element of this many bytes.
ElementType moverOf(int elementBytes);

/// Returns "arith.addi of fp32 is not supported" for an op and the types of its operands.
std::string unsupported(const OpSignature &signature);

/// Returns the elementwise evaluator of `op` for the type of operand `operand`, or the error.
EvaluatorOrError chooseElement(const OpSignature &signature, ElementOp op, int operand = 0);

/// Wraps a kernel that may be null.
EvaluatorOrError elementwiseOr(ElementKernel kernel, const OpSignature &signature);

} // namespace blockscope::interpreter
