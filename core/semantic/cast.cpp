// Conversions between element types.
#include "core/semantic/semantic.h"

namespace blockscope {

Value Semantic::cast(const Value &x, const Type &to, std::optional<std::string> rounding) {
  if (failed())
    return {};
  const Type from = x.type;
  const Type result = to.scalar().withShape(from.shape);
  if (from == result)
    return x;
  if (rounding &&
      !(from.isFloating() && to.isFloating() && bitWidth(to.dtype) < bitWidth(from.dtype)))
    return valueError("fp_downcast_rounding is only for conversions to a narrower float, got " +
                      from.scalar().str() + " to " + to.scalar().str());
  if (rounding && !checkOneOf("fp_downcast_rounding", *rounding, {"rtne", "rtz"}))
    return {};
  if (to.isVoid() || from.isVoid())
    return typeError("cannot convert " + typeText(from) + " to " + typeText(result));

  if (from.isPointer() || to.isPointer()) {
    if (from.isPointer() && to.isPointer())
      return emit1("tl.bitcast", {x}, result);
    if (from.isPointer()) {
      if (to.isBool())
        return compare(CompareOp::NotEqual, cast(x, DType::Int64), Scalar::ofInt(0));
      if (!to.isInteger() || bitWidth(to.dtype) != 64)
        return typeError("cannot convert " + typeText(from) + " to " + to.scalar().str() +
                         ", expected a 64-bit integer");
      return emit1("tl.ptr_to_int", {x}, result);
    }
    if (!from.isInteger())
      return typeError("cannot convert " + typeText(from) + " to " + typeText(result));
    return emit1("tl.int_to_ptr", {cast(x, DType::Int64)}, result);
  }

  if (from.isFloating() && to.isFloating())
    return emit1("tl.fp_cast", {x}, result, {{"rounding", rounding.value_or("rtne")}});
  if (to.isBool())
    return compare(CompareOp::NotEqual, x, Scalar::ofInt(0));
  if (from.isFloating())
    return emit1("tl.float_to_int", {x}, result, {{"is_unsigned", isUnsigned(to.dtype)}});
  if (to.isFloating())
    return emit1("tl.int_to_float", {x}, result, {{"is_unsigned", isUnsigned(from.dtype)}});

  const int fromBits = bitWidth(from.dtype), toBits = bitWidth(to.dtype);
  if (fromBits == toBits) { // only the reading of the bits changes
    Value same = x;
    same.type = result;
    return same;
  }
  if (toBits < fromBits)
    return emit1("arith.trunci", {x}, result);
  return emit1(isSigned(from.dtype) ? "arith.extsi" : "arith.extui", {x}, result);
}

Value Semantic::bitcast(const Value &x, const Type &to) {
  if (failed())
    return {};
  const Type from = x.type;
  const Type result = to.scalar().withShape(from.shape);
  if (from == result)
    return x;
  if (from.isPointer() != to.isPointer())
    return cast(x, to);
  if (from.isPointer())
    return emit1("tl.bitcast", {x}, result);
  if (bitWidth(from.dtype) != bitWidth(to.dtype))
    return valueError("cannot bitcast " + typeText(from) + " of " +
                      std::to_string(bitWidth(from.dtype)) + " bits to " + to.scalar().str() +
                      " of " + std::to_string(bitWidth(to.dtype)) + " bits");
  if (storageDType(from.dtype) == storageDType(to.dtype)) {
    Value same = x;
    same.type = result;
    return same;
  }
  return emit1("tl.bitcast", {x}, result);
}

Value Semantic::toCondition(const Value &x) {
  return failed() || x.type.isBool() ? x : cast(x, DType::Int1);
}

Value Semantic::promoteBf16(const Value &x) {
  return !x.type.isPointer() && x.type.dtype == DType::Bf16 ? cast(x, DType::Fp32) : x;
}

} // namespace blockscope
