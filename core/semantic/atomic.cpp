// Atomics: which element types, orders and scopes they take.
#include "core/semantic/semantic.h"

namespace blockscope {

Value Semantic::atomicLoad(const Value &pointer, const std::optional<Operand> &mask,
                           llvm::StringRef sem, llvm::StringRef scope) {
  if (!checkPointer(pointer, /*writes=*/false) || !checkOneOf("sem", sem, {"acquire", "relaxed"}) ||
      !checkOneOf("scope", scope, {"gpu", "cta", "sys"}))
    return {};
  const Value from = asStored(pointer);
  llvm::SmallVector<Value, 2> operands = {from};
  if (mask)
    operands.push_back(maskFor(pointer.type, *mask));
  const Value result = emit1("tl.atomic_load", operands, from.type.pointee(),
                             {{"sem", sem.str()}, {"scope", scope.str()}});
  return cast(result, pointer.type.pointee().scalar());
}

void Semantic::atomicStore(const Value &pointer, const Operand &value,
                           const std::optional<Operand> &mask, llvm::StringRef sem,
                           llvm::StringRef scope) {
  if (!checkPointer(pointer, /*writes=*/true) || !checkOneOf("sem", sem, {"release", "relaxed"}) ||
      !checkOneOf("scope", scope, {"gpu", "cta", "sys"}))
    return;
  const Value to = asStored(pointer);
  const Value stored =
      cast(writtenValue(value, pointer.type.pointee(), "val"), to.type.pointee().scalar());
  llvm::SmallVector<Value, 3> operands = {to, stored};
  if (mask)
    operands.push_back(maskFor(pointer.type, *mask));
  emit0("tl.atomic_store", operands, {{"sem", sem.str()}, {"scope", scope.str()}});
}

Value Semantic::globalTimer() { return emit1("tl.global_timer", {}, Type::get(DType::Int64)); }

Value Semantic::atomicRmw(llvm::StringRef kind, const Value &pointer, const Operand &value,
                          const std::optional<Operand> &mask, llvm::StringRef sem,
                          llvm::StringRef scope) {
  if (!checkPointer(pointer, /*writes=*/true) ||
      !checkOneOf("sem", sem, {"acq_rel", "acquire", "release", "relaxed"}) ||
      !checkOneOf("scope", scope, {"gpu", "cta", "sys"}))
    return {};
  const Type element = pointer.type.pointee();
  const std::string elementText = typeText(element.scalar());
  if (element.isPointer())
    return typeError("pointer points to " + elementText + ", expected numbers");
  if (bitWidth(element.dtype) < 32 &&
      !(kind == "add" && (element.dtype == DType::Fp16 || element.dtype == DType::Bf16)))
    return typeError("elements are " + elementText + ", expected 32 or 64 bits" +
                     (kind == "add" ? ", fp16 or bf16" : ""));
  const bool isFloat = element.isFloating();
  if (isFloat && (kind == "and" || kind == "or" || kind == "xor"))
    return typeError("elements are " + elementText + ", expected integers");
  std::string exactKind = kind.str();
  if (isFloat && kind != "xchg")
    exactKind = "f" + exactKind;
  else if ((kind == "max" || kind == "min") && isUnsigned(element.dtype))
    exactKind = "u" + exactKind;

  llvm::SmallVector<Value, 3> operands = {pointer, writtenValue(value, element, "val")};
  if (mask)
    operands.push_back(maskFor(pointer.type, *mask));
  return emit1("tl.atomic_rmw", operands, element,
               {{"kind", exactKind},
                {"sem", sem.str()},
                {"scope", scope.str()},
                {"has_mask", mask.has_value()}});
}

Value Semantic::atomicCas(const Value &pointer, const Operand &compare, const Operand &value,
                          llvm::StringRef sem, llvm::StringRef scope) {
  if (!checkPointer(pointer, /*writes=*/true) ||
      !checkOneOf("sem", sem, {"acq_rel", "acquire", "release", "relaxed"}) ||
      !checkOneOf("scope", scope, {"gpu", "cta", "sys"}))
    return {};
  const Type element = pointer.type.pointee();
  if (element.isPointer() || element.elementBytes() < 2)
    return typeError("elements are " + typeText(element.scalar()) +
                     ", expected numbers of 16, 32 or 64 bits");
  const Value expected = writtenValue(compare, element, "cmp");
  const Value desired = writtenValue(value, element, "val");
  return emit1("tl.atomic_cas", {pointer, expected, desired}, element,
               {{"sem", sem.str()}, {"scope", scope.str()}});
}

} // namespace blockscope
