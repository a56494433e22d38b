// Conversions between element types: the casts of tl and of arith.
#include "interpreter/execution_context.h"
#include "interpreter/ops/element_type.h"

#include "core/numeric/payload.h"
#include "core/numeric/scalar.h"

namespace blockscope::interpreter {
namespace {

using Matrix = ElementKernel[kNumElementTypes][kNumElementTypes];

EvaluatorOrError choose(const OpSignature &signature, const Matrix &matrix) {
  if (signature.operands.size() != 1 || signature.results.size() != 1)
    return {{}, unsupported(signature)};
  const auto from = elementTypeOf(signature.operands[0]), to = elementTypeOf(signature.results[0]);
  if (!from || !to)
    return {{}, unsupported(signature)};
  return elementwiseOr(matrix[static_cast<int>(*from)][static_cast<int>(*to)], signature);
}

EvaluatorOrError chooseFloatCast(const OpSignature &signature) {
  const llvm::StringRef rounding = signature.attributes.getString("rounding", "rtne");
  if (rounding == "rtz")
    return choose(signature, kernels().castTowardZero);
  if (rounding == "rtne")
    return choose(signature, kernels().castNearest);
  return {{}, "tl.fp_cast has rounding '" + rounding.str() + "', expected 'rtne' or 'rtz'"};
}

EvaluatorOrError chooseBySignedness(const OpSignature &signature) {
  return choose(signature, signature.attributes.getBool("is_unsigned") ? kernels().castUnsigned
                                                                       : kernels().castSigned);
}

/// The same bits: a copy.
EvaluatorOrError chooseBitcast(const OpSignature &signature) {
  if (signature.operands.size() != 1 || signature.results.size() != 1 ||
      signature.operands[0].elementBytes() != signature.results[0].elementBytes())
    return {{}, unsupported(signature)};
  return chooseElement(signature, ElementOp::Copy);
}

/// `T` has the bits of one element.
template <typename T, bool isEmbedding>
void evalPayload(int64_t n, int64_t, void *const *results, const void *const *operands,
                 uint32_t scalarOperands, const void *payload) {
  const auto rule = *static_cast<const numeric::Payload *>(payload);
  const auto *from = static_cast<const T *>(operands[0]);
  auto *to = static_cast<T *>(results[0]);
  const int64_t step = scalarOperands & 1 ? 0 : 1;
  for (int64_t i = 0; i < n; ++i)
    to[i] = static_cast<T>(isEmbedding ? rule.embed(from[i * step]) : rule.unembed(from[i * step]));
}

template <bool isEmbedding> EvaluatorOrError choosePayload(const OpSignature &signature) {
  if (signature.operands.size() != 1 || signature.results.size() != 1 ||
      signature.operands[0].elementBytes() != signature.results[0].elementBytes())
    return {{}, unsupported(signature)};
  const Type &type = isEmbedding ? signature.operands[0] : signature.results[0];
  uint64_t one = 0;
  numeric::writeDouble(type.dtype, 1, &one);
  const auto rule = std::make_shared<const numeric::Payload>(bitWidth(type.dtype), one);
  const auto evaluator = [&]<typename T>(T) {
    return Evaluator::makeElementwise(evalPayload<T, isEmbedding>, rule);
  };
  switch (type.elementBytes()) {
  case 1:
    return {evaluator(uint8_t()), ""};
  case 2:
    return {evaluator(uint16_t()), ""};
  case 4:
    return {evaluator(uint32_t()), ""};
  default:
    return {evaluator(uint64_t()), ""};
  }
}

void evalPtrToInt(ExecutionContext &context, void *const *results, const void *const *operands,
                  const void *payload) {
  const auto *from = static_cast<const DeviceAddress *>(operands[0]);
  auto *to = static_cast<uint64_t *>(results[0]);
  for (int64_t i = 0; i < *static_cast<const int64_t *>(payload); ++i)
    to[i] = context.launch->memory.toInteger(from[i]);
}

void evalIntToPtr(ExecutionContext &context, void *const *results, const void *const *operands,
                  const void *payload) {
  const auto *from = static_cast<const uint64_t *>(operands[0]);
  auto *to = static_cast<DeviceAddress *>(results[0]);
  for (int64_t i = 0; i < *static_cast<const int64_t *>(payload); ++i)
    to[i] = context.launch->memory.toPointer(from[i]);
}

/// A pointer is another number than the address that it stands for (interpreter/memory.h).
EvaluatorFactory choosePointerCast(ContextFn evaluate) {
  return [evaluate](const OpSignature &signature) -> EvaluatorOrError {
    if (signature.operands.size() != 1 || signature.results.size() != 1 ||
        signature.operands[0].elementBytes() != 8 || signature.results[0].elementBytes() != 8)
      return {{}, unsupported(signature)};
    const auto lanes = std::make_shared<const int64_t>(signature.results[0].numElements());
    return {Evaluator::makeContext(evaluate, lanes), ""};
  };
}

} // namespace

void addCastEvaluators(EvaluatorTable &table) {
  const auto asSigned = [](const OpSignature &signature) {
    return choose(signature, kernels().castSigned);
  };
  const auto asUnsigned = [](const OpSignature &signature) {
    return choose(signature, kernels().castUnsigned);
  };
  table.add("tl.fp_cast", chooseFloatCast);
  table.add("tl.float_to_int", chooseBySignedness);
  table.add("tl.int_to_float", chooseBySignedness);
  table.add("arith.extsi", asSigned);
  table.add("arith.extui", asUnsigned);
  table.add("arith.trunci", asUnsigned);
  table.add("tl.bitcast", chooseBitcast);
  table.add("tl.to_payload", choosePayload<true>);
  table.add("tl.from_payload", choosePayload<false>);
  table.add("tl.int_to_ptr", choosePointerCast(evalIntToPtr));
  table.add("tl.ptr_to_int", choosePointerCast(evalPtrToInt));
}

} // namespace blockscope::interpreter
