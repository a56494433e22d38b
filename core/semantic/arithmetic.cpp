// Operators: promotion of the two sides, then the op for the element type.
#include "core/semantic/semantic.h"

namespace blockscope {
namespace {

/// bool < int < float.
int kindOf(const Type &type) { return type.isBool() ? 0 : type.isInteger() ? 1 : 2; }

/// Upstream's enum values of arith.cmpi and arith.cmpf predicates.
int64_t integerPredicate(CompareOp op, bool isSigned) {
  switch (op) {
  case CompareOp::Equal:
    return 0;
  case CompareOp::NotEqual:
    return 1;
  case CompareOp::Less:
    return isSigned ? 2 : 6;
  case CompareOp::LessEqual:
    return isSigned ? 3 : 7;
  case CompareOp::Greater:
    return isSigned ? 4 : 8;
  case CompareOp::GreaterEqual:
    return isSigned ? 5 : 9;
  }
  return 0;
}

/// Ordered, so that NaN compares false; `!=` unordered, so that NaN compares true.
int64_t floatPredicate(CompareOp op) {
  switch (op) {
  case CompareOp::Equal:
    return 1;
  case CompareOp::NotEqual:
    return 13;
  case CompareOp::Less:
    return 4;
  case CompareOp::LessEqual:
    return 5;
  case CompareOp::Greater:
    return 2;
  case CompareOp::GreaterEqual:
    return 3;
  }
  return 0;
}

} // namespace

//===-- Promotion ---------------------------------------------------------------------------===//

DType promoteIntegers(DType lhs, DType rhs) {
  const int left = bitWidth(lhs), right = bitWidth(rhs);
  if (isSigned(lhs) == isSigned(rhs))
    return left > right ? lhs : rhs;
  if (isUnsigned(lhs))
    return left >= right ? lhs : rhs;
  return right >= left ? rhs : lhs;
}

std::optional<DType> Semantic::commonDType(const Type &lhs, bool lhsIsNumber, const Type &rhs,
                                           bool rhsIsNumber, bool divides) {
  const DType a = lhs.dtype, b = rhs.dtype;
  const auto either = [&](DType dtype) { return a == dtype || b == dtype; };
  if (lhsIsNumber != rhsIsNumber) {
    const Type &number = lhsIsNumber ? lhs : rhs, &tensor = lhsIsNumber ? rhs : lhs;
    if (kindOf(number) <= kindOf(tensor)) {
      const bool isHalf = tensor.dtype == DType::Fp16 || tensor.dtype == DType::Bf16;
      return divides && isHalf ? DType::Fp32 : tensor.dtype;
    }
  }
  if (either(DType::Fp64))
    return DType::Fp64;
  if (either(DType::Fp32))
    return DType::Fp32;
  if (either(DType::Fp16))
    return divides ? DType::Fp32 : DType::Fp16;
  if (a == DType::Bf16 && b == DType::Bf16)
    return divides ? DType::Fp32 : DType::Bf16;
  if (either(DType::Bf16))
    return DType::Fp32;
  if (isFp8(a) && isFp8(b))
    return a == b ? a : DType::Fp16;
  if (!isInteger(a) || !isInteger(b)) {
    typeError("no common type of " + lhs.scalar().str() + " and " + rhs.scalar().str() +
              "; cast one of them");
    return std::nullopt;
  }
  if (divides && isSigned(a) != isSigned(b)) {
    llvm::StringRef op = op_;
    op.consume_front("operator ");
    typeError("Cannot use " + op + " with " + lhs.scalar().str() + " and " + rhs.scalar().str() +
              " because they have different signedness; cast them to the same signedness");
    return std::nullopt;
  }
  return promoteIntegers(a, b);
}

std::pair<Value, Value> Semantic::unify(const Operand &lhs, const Operand &rhs, BinaryRules rules) {
  if (failed())
    return {};
  if (lhs.isValue() && rhs.isValue() && lhs.value.type == rhs.value.type &&
      !lhs.value.type.isPointer() && !rules.divides)
    return {lhs.value, rhs.value};

  const auto typeOf = [](const Operand &operand) {
    return operand.isValue() ? operand.value.type : Type::get(literalDType(operand.scalar));
  };
  const Type left = typeOf(lhs), right = typeOf(rhs);
  const auto refuse = [&]() -> std::pair<Value, Value> {
    const bool hasPointer = left.isPointer() || right.isPointer();
    typeError("invalid operands of type " + typeText(left) + " and " + typeText(right),
              hasPointer
                  ? "; a tensor that a kernel is given is a pointer: tl.load reads what is there"
                  : "");
    return {};
  };
  const auto pointerIsAllowed = [](const Type &pointer, const Type &other, bool allowed) {
    if (!pointer.isPointer())
      return true;
    return allowed && !other.isFloating() &&
           !(other.isPointer() && pointer.scalar() != other.scalar());
  };
  if (!pointerIsAllowed(left, right, rules.allowLhsPointer) ||
      !pointerIsAllowed(right, left, rules.allowRhsPointer))
    return refuse();

  Value a, b;
  if (rules.convert && !left.isPointer() && !right.isPointer()) {
    const std::optional<DType> common =
        commonDType(left, !lhs.isValue(), right, !rhs.isValue(), rules.divides);
    if (!common)
      return {};
    const auto bring = [&](const Operand &operand) -> Value {
      if (operand.isValue())
        return cast(operand.value, *common);
      if (isInteger(*common) && isUnsigned(*common) && operand.scalar.isNegativeInt())
        return valueError("negative number " + operand.scalar.str() + " with a tensor of " +
                          dtypeName(*common) + "; cast one of them");
      if (!numberFits(operand.scalar, *common))
        return valueError("number " + operand.scalar.str() + " is out of range for " +
                          dtypeName(*common));
      return constant(operand.scalar, *common);
    };
    a = bring(lhs);
    b = bring(rhs);
  } else {
    a = toTensor(lhs);
    b = toTensor(rhs);
  }
  return broadcast(a, b);
}

ValueList Semantic::promote(llvm::ArrayRef<Operand> operands) {
  if (failed() || operands.empty())
    return {};
  Operand common = operands.front();
  for (const Operand &operand : operands.drop_front())
    common = unify(common, operand, {}).first;
  ValueList results;
  for (const Operand &operand : operands)
    results.push_back(unify(operand, common, {}).first);
  return results;
}

//===-- Pointers ----------------------------------------------------------------------------===//

Value Semantic::addPointer(const Value &pointer, const Value &offset) {
  Value steps = offset;
  if (bitWidth(offset.type.dtype) < 32)
    steps = cast(offset, DType::Int32);
  Attributes attributes;
  if (steps.type.dtype == DType::UInt32)
    attributes.set("is_unsigned", true);
  return emit1("tl.addptr", {pointer, steps}, pointer.type, attributes);
}

//===-- Arithmetic --------------------------------------------------------------------------===//

Value Semantic::binary(BinaryOp op, const Operand &lhs, const Operand &rhs) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
    break;
  case BinaryOp::TrueDiv:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return divide(op, lhs, rhs);
  case BinaryOp::And:
  case BinaryOp::Or:
  case BinaryOp::Xor:
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return binaryInteger(op, lhs, rhs);
  }
  auto [a, b] = unify(
      lhs, rhs, {.allowLhsPointer = op != BinaryOp::Mul, .allowRhsPointer = op == BinaryOp::Add});
  if (failed())
    return {};
  if (a.type.isPointer() || b.type.isPointer()) {
    if (a.type.isPointer() && b.type.isPointer())
      return typeError("cannot add two pointers");
    if (b.type.isPointer())
      std::swap(a, b);
    if (op == BinaryOp::Sub)
      b = negate(isSigned(b.type.dtype) ? b : cast(b, DType::Int64));
    return addPointer(a, b);
  }
  const bool isFloat = a.type.isFloating();
  const bool isBool = a.type.isBool(); // modulo 2
  llvm::StringRef name;
  if (op == BinaryOp::Mul)
    name = isFloat ? "arith.mulf" : isBool ? "arith.andi" : "arith.muli";
  else if (op == BinaryOp::Add)
    name = isFloat ? "arith.addf" : isBool ? "arith.xori" : "arith.addi";
  else
    name = isFloat ? "arith.subf" : isBool ? "arith.xori" : "arith.subi";
  return emit1(name, {a, b}, a.type);
}

Value Semantic::binaryChecked(BinaryOp op, const Operand &lhs, const Operand &rhs) {
  const bool canAssert = maps_ == 0 && combines_ == 0;
  const bool mayOverflow = op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
  if (!checksOverflow_ || !canAssert || !mayOverflow)
    return binary(op, lhs, rhs);
  const Value result = binary(op, lhs, rhs);
  if (failed() || !result.type.isInteger())
    return result;
  const auto [a, b] = unify(lhs, rhs, {});
  assertFits(op, a, b);
  return result;
}

void Semantic::assertFits(BinaryOp op, const Value &lhs, const Value &rhs) {
  const DType dtype = lhs.type.dtype;
  const int bits = bitWidth(dtype);
  if (bits >= 64)
    return;
  const bool hasSign = isSigned(dtype);
  const int64_t most = (int64_t{1} << (hasSign ? bits - 1 : bits)) - 1,
                least = hasSign ? -most - 1 : 0;
  const Value wide = binary(op, cast(lhs, DType::Int64), cast(rhs, DType::Int64));
  const Value fits =
      logicalAnd(compare(CompareOp::LessEqual, wide, constant(most, DType::Int64)),
                 compare(CompareOp::GreaterEqual, wide, constant(least, DType::Int64)));
  const llvm::StringRef name = op == BinaryOp::Add ? "add" : op == BinaryOp::Sub ? "sub" : "mul";
  const std::string type = "int" + std::to_string(bits);
  deviceAssert(fits, type + " overflow detected for operation " + name.str(), std::nullopt);
}

Value Semantic::divide(BinaryOp op, const Operand &lhs, const Operand &rhs) {
  auto [a, b] = unify(lhs, rhs, {.divides = true});
  if (failed())
    return {};
  if (op == BinaryOp::TrueDiv) {
    if (a.type.isInteger()) {
      a = cast(a, DType::Fp32);
      b = cast(b, DType::Fp32);
    }
    return emit1("arith.divf", {a, b}, a.type, approximation(a.type));
  }
  if (a.type.isFloating()) {
    if (op == BinaryOp::Mod)
      return emit1("arith.remf", {a, b}, a.type);
    return typeError("operands are " + typeText(a.type) +
                     ", expected integers; // of floats is "
                     "tl.floor(x / y)");
  }
  const bool isSignedOp = isSigned(a.type.dtype);
  const llvm::StringRef name = op == BinaryOp::FloorDiv
                                   ? (isSignedOp ? "arith.divsi" : "arith.divui")
                                   : (isSignedOp ? "arith.remsi" : "arith.remui");
  return emit1(name, {a, b}, a.type);
}

Value Semantic::binaryInteger(BinaryOp op, const Operand &lhs, const Operand &rhs) {
  const auto textOf = [](const Operand &operand) {
    return typeText(operand.isValue() ? operand.value.type
                                      : Type::get(literalDType(operand.scalar)));
  };
  auto [a, b] = unify(lhs, rhs, {});
  if (failed())
    return {};
  if (!a.type.isInteger())
    return typeError("invalid operands of type " + textOf(lhs) + " and " + textOf(rhs),
                     ", expected integers");
  llvm::StringRef name;
  if (op == BinaryOp::And)
    name = "arith.andi";
  else if (op == BinaryOp::Or)
    name = "arith.ori";
  else if (op == BinaryOp::Xor)
    name = "arith.xori";
  else if (op == BinaryOp::Shl)
    name = "arith.shli";
  else // the left operand has the sign; where it is a number, the right one
    name = isSigned((lhs.isValue() ? lhs : rhs).value.type.dtype) ? "arith.shrsi" : "arith.shrui";
  return emit1(name, {a, b}, a.type);
}

Value Semantic::fdiv(const Operand &lhs, const Operand &rhs, bool ieeeRounding) {
  auto [a, b] = unify(lhs, rhs, {.divides = true});
  if (failed())
    return {};
  if (!a.type.isFloating())
    return typeError("operands are " + typeText(a.type) + ", expected floats");
  return emit1("arith.divf", {a, b}, a.type, ieeeRounding ? Attributes() : approximation(a.type));
}

Value Semantic::minimum(const Operand &lhs, const Operand &rhs, bool propagateNan) {
  auto [a, b] = unify(lhs, rhs, {});
  if (failed())
    return {};
  if (a.type.isFloating()) {
    a = promoteBf16(a);
    return emit1(propagateNan ? "arith.minimumf" : "arith.minnumf", {a, promoteBf16(b)}, a.type);
  }
  if (a.type.isBool())
    return emit1("arith.andi", {a, b}, a.type);
  return emit1(isSigned(a.type.dtype) ? "arith.minsi" : "arith.minui", {a, b}, a.type);
}

Value Semantic::maximum(const Operand &lhs, const Operand &rhs, bool propagateNan) {
  auto [a, b] = unify(lhs, rhs, {});
  if (failed())
    return {};
  if (a.type.isFloating()) {
    a = promoteBf16(a);
    return emit1(propagateNan ? "arith.maximumf" : "arith.maxnumf", {a, promoteBf16(b)}, a.type);
  }
  if (a.type.isBool())
    return emit1("arith.ori", {a, b}, a.type);
  return emit1(isSigned(a.type.dtype) ? "arith.maxsi" : "arith.maxui", {a, b}, a.type);
}

Value Semantic::clamp(const Operand &x, const Operand &lo, const Operand &hi, bool propagateNan) {
  auto [a, low] = unify(x, lo, {});
  auto [b, high] = unify(a, hi, {});
  low = unify(low, b, {}).first;
  if (failed())
    return {};
  if (!b.type.isFloating())
    return minimum(maximum(b, low, propagateNan), high, propagateNan);
  b = promoteBf16(b);
  return emit1("tl.clamp", {b, promoteBf16(low), promoteBf16(high)}, b.type,
               {{"propagate_nan", propagateNan}});
}

//===-- Unary -------------------------------------------------------------------------------===//

Value Semantic::plus(const Operand &x) { return toTensor(x); }

Value Semantic::negate(const Operand &x) {
  const Value value = toTensor(x);
  if (failed())
    return {};
  if (value.type.isPointer())
    return typeError("operand is a pointer, " + typeText(value.type));
  if (value.type.isFloating())
    return emit1("arith.negf", {value}, value.type);
  if (value.type.isBool())
    return value;
  return emit1("arith.subi", {zerosLike(value), value}, value.type);
}

Value Semantic::invert(const Operand &x) {
  const Value value = toTensor(x);
  if (failed())
    return {};
  if (!value.type.isInteger())
    return typeError("operand is " + typeText(value.type) + ", expected an integer");
  const Value ones = constant(Scalar::ofInt(-1), value.type.dtype);
  return emit1("arith.xori", {value, broadcastTo(ones, value.type.shape)}, value.type);
}

Value Semantic::logicalNot(const Operand &x) {
  const Value value = toCondition(toTensor(x));
  if (failed())
    return {};
  return invert(value);
}

Value Semantic::logicalAnd(const Operand &lhs, const Operand &rhs) {
  return binaryInteger(BinaryOp::And, toCondition(toTensor(lhs)), toCondition(toTensor(rhs)));
}

Value Semantic::logicalOr(const Operand &lhs, const Operand &rhs) {
  return binaryInteger(BinaryOp::Or, toCondition(toTensor(lhs)), toCondition(toTensor(rhs)));
}

//===-- Comparison and choice ---------------------------------------------------------------===//

Value Semantic::compare(CompareOp op, const Operand &lhs, const Operand &rhs) {
  auto [a, b] = unify(lhs, rhs, {.allowLhsPointer = true, .allowRhsPointer = true});
  if (failed())
    return {};
  if (a.type.isPointer() != b.type.isPointer())
    return typeError("cannot compare " + typeText(a.type) + " with " + typeText(b.type));
  if (a.type.isPointer()) {
    a = cast(a, DType::UInt64);
    b = cast(b, DType::UInt64);
  }
  const Type result = a.type.withDType(DType::Int1);
  if (a.type.isFloating())
    return emit1("arith.cmpf", {a, b}, result, {{"predicate", floatPredicate(op)}});
  return emit1("arith.cmpi", {a, b}, result,
               {{"predicate", integerPredicate(op, isSigned(a.type.dtype))}});
}

Value Semantic::where(const Operand &condition, const Operand &x, const Operand &y) {
  Value choose = toCondition(toTensor(condition));
  auto [a, b] = unify(x, y, {.allowLhsPointer = true, .allowRhsPointer = true});
  if (failed())
    return {};
  if (a.type.isPointer() != b.type.isPointer())
    return typeError("cannot choose between " + typeText(a.type) + " and " + typeText(b.type));
  std::tie(choose, a) = broadcast(choose, a);
  std::tie(choose, b) = broadcast(choose, b);
  return emit1("arith.select", {choose, a, b}, a.type);
}

} // namespace blockscope
