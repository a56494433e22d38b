// One rule for each elementwise op of integers.
#include "sanitizer/integers/exact.h"
#include "sanitizer/undefined/rules.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <optional>

namespace blockscope::sanitizer {
namespace {

enum class Op : uint8_t {
  Other,
  Add,
  Sub,
  Mul,
  Shl,
  ShrS,
  ShrU,
  And,
  Or,
  Xor,
  DivS,
  DivU,
  RemS,
  RemU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  Abs,
  Compare,
  Select,
  ExtendS,
  ExtendU,
  Truncate,
  IntToFloat,
  FloatToInt,
  AddPointer,
  Same, ///< the same bits
};

Op opOf(llvm::StringRef name) {
  return llvm::StringSwitch<Op>(name)
      .Case("arith.addi", Op::Add)
      .Case("arith.subi", Op::Sub)
      .Case("arith.muli", Op::Mul)
      .Case("arith.shli", Op::Shl)
      .Case("arith.shrsi", Op::ShrS)
      .Case("arith.shrui", Op::ShrU)
      .Case("arith.andi", Op::And)
      .Case("arith.ori", Op::Or)
      .Case("arith.xori", Op::Xor)
      .Case("arith.divsi", Op::DivS)
      .Case("arith.divui", Op::DivU)
      .Case("arith.remsi", Op::RemS)
      .Case("arith.remui", Op::RemU)
      .Case("arith.minsi", Op::MinS)
      .Case("arith.maxsi", Op::MaxS)
      .Case("arith.minui", Op::MinU)
      .Case("arith.maxui", Op::MaxU)
      .Case("math.absi", Op::Abs)
      .Case("arith.cmpi", Op::Compare)
      .Case("arith.select", Op::Select)
      .Case("arith.extsi", Op::ExtendS)
      .Case("arith.extui", Op::ExtendU)
      .Case("arith.trunci", Op::Truncate)
      .Case("tl.int_to_float", Op::IntToFloat)
      .Case("tl.float_to_int", Op::FloatToInt)
      .Case("tl.addptr", Op::AddPointer)
      .Cases({"tl.bitcast", "tl.hint", "tl.splat", "tl.unsplat"}, Op::Same)
      .Default(Op::Other);
}

int widthOf(const Type &type) { return type.isBool() ? 1 : type.elementBytes() * 8; }

Wide leastOf(int width) { return -(Wide(1) << (width - 1)); }

/// Larger than indices of bits that are combined (i ^ j): a pattern.
constexpr int64_t kPattern = 1 << 24;

/// Multipliers of well-known hashes and random number generators; larger odd ones are taken for
/// some as well.
bool isHashMultiplier(int64_t value) {
  constexpr int64_t kSmall[] = {31, 33, 37, 131, 16807, 48271, 65599, 69069, 214013};
  constexpr int64_t kLarge = 1'500'000;
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : value;
  return (magnitude & 1) != 0 &&
         (magnitude >= kLarge || llvm::is_contained(kSmall, static_cast<int64_t>(magnitude)));
}

//===-- The fast look -------------------------------------------------------------------------===//

template <typename T, typename Test>
bool anyPair(const Integers &x, const Integers &y, int64_t count, Test test) {
  const auto *a = static_cast<const T *>(x.view().data), *b = static_cast<const T *>(y.view().data);
  const int64_t stepA = x.isOne() ? 0 : 1, stepB = y.isOne() ? 0 : 1;
  bool found = false;
  for (int64_t i = 0; i < count; ++i)
    found |= test(a[i * stepA], b[i * stepB]);
  return found;
}

template <typename T> bool anyWrap(Op op, const Integers &x, const Integers &y, int64_t count) {
  T ignored;
  if (op == Op::Add)
    return anyPair<T>(x, y, count,
                      [&](T a, T b) { return __builtin_add_overflow(a, b, &ignored); });
  if (op == Op::Sub)
    return anyPair<T>(x, y, count,
                      [&](T a, T b) { return __builtin_sub_overflow(a, b, &ignored); });
  return anyPair<T>(x, y, count, [&](T a, T b) { return __builtin_mul_overflow(a, b, &ignored); });
}

bool anySignedWrap(Op op, const Integers &x, const Integers &y, int64_t count) {
  switch (x.type().elementBytes()) {
  case 1:
    return anyWrap<int8_t>(op, x, y, count);
  case 2:
    return anyWrap<int16_t>(op, x, y, count);
  case 4:
    return anyWrap<int32_t>(op, x, y, count);
  default:
    return anyWrap<int64_t>(op, x, y, count);
  }
}

double floatAt(const ValueView &view, int64_t i) {
  const int bytes = view.type->elementBytes();
  const int64_t at = view.extent == ValueView::Extent::One ? 0 : i;
  return numeric::readAsDouble(view.type->dtype,
                               static_cast<const std::byte *>(view.data) + at * bytes);
}

/// Whether a float, cut off to an integer, is one of the type.
bool fits(double value, int width, bool isUnsigned) {
  const double whole = std::trunc(value);
  const double past = std::ldexp(1.0, isUnsigned ? width : width - 1);
  return whole < past && whole >= (isUnsigned ? 0.0 : -past);
}

//===-- One element ---------------------------------------------------------------------------===//

class Rules {
public:
  Rules(const OpValues &values, llvm::ArrayRef<Integers> operands, const Integers &result,
        Deviations &deviations, Wanted wanted)
      : values_(values), operands_(operands), result_(result), deviations_(deviations),
        wanted_(wanted), op_(opOf(values.signature->name)), isUnsigned_(values.op->isUnsigned),
        width_(widthOf(result.type())) {}

  OriginId element(int64_t i) {
    i_ = i;
    switch (op_) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      return arithmetic();
    case Op::Shl:
      return shiftLeft();
    case Op::ShrS:
    case Op::ShrU:
      return shiftRight();
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return result_.type().isBool() ? logic() : bitwise();
    case Op::DivS:
    case Op::DivU:
    case Op::RemS:
    case Op::RemU:
      return divide();
    case Op::MinS:
    case Op::MaxS:
    case Op::MinU:
    case Op::MaxU:
      return choose();
    case Op::Abs:
      return absolute();
    case Op::Compare:
      return compare();
    case Op::Select:
      return select();
    case Op::ExtendS:
    case Op::ExtendU:
      return extend();
    case Op::Truncate:
      return truncate();
    case Op::IntToFloat:
      return deviations_.unknown(id(0));
    case Op::FloatToInt:
      return floatToInt();
    case Op::AddPointer:
      return addPointer();
    case Op::Same:
      return id(0);
    case Op::Other:
      return other();
    }
    return kDefined;
  }

private:
  OriginId id(size_t k) const { return operands_[k].deviation(i_); }
  const Deviation *deviation(size_t k) const { return deviations_.find(id(k)); }
  bool isUnknown(size_t k) const {
    const Deviation *found = deviation(k);
    return found && !found->isExact;
  }
  bool isModular(size_t k) const {
    const Deviation *found = deviation(k);
    return found && found->isModular;
  }
  bool isBits(size_t k) const {
    const Deviation *found = deviation(k);
    return found && found->birth.mistake == Mistake::Bits;
  }
  /// What the operand would be.
  Wide exact(size_t k, bool isUnsigned) const {
    const Deviation *found = deviation(k);
    return found ? found->exact : operands_[k].as(isUnsigned, i_);
  }
  /// The first operand with a deviation, one that counts before one that is meant.
  OriginId first() const {
    OriginId best = kDefined;
    for (const Integers &operand : operands_) {
      const OriginId found = operand.deviation(i_);
      if (found != kDefined && (best == kDefined || deviations_[best].isModular))
        best = found;
    }
    return best;
  }
  bool anyBits() const { return isBits(0) || (operands_.size() > 1 && isBits(1)); }
  bool anyUnknown() const { return isUnknown(0) || (operands_.size() > 1 && isUnknown(1)); }
  bool anyModular() const { return isModular(0) || (operands_.size() > 1 && isModular(1)); }

  OriginId born(Mistake mistake, Wide exact, bool isModular = false, bool isExact = true) {
    if (isArithmetic(mistake) ? !wanted_.arithmetic : !wanted_.wraps)
      return kDefined;
    Deviation made;
    made.birth = {mistake, values_.op, operands_[0].isOne() && result_.isOne() ? 0 : i_};
    const bool takesUnsigned = isUnsigned_ || op_ == Op::DivU || op_ == Op::RemU;
    if (mistake == Mistake::FloatToInt) {
      made.birth.number = floatAt(operands_[0].view(), i_);
    } else {
      made.birth.left = operands_[0].as(takesUnsigned, i_);
      made.birth.right = operands_.size() > 1 ? operands_[1].as(takesUnsigned, i_) : 0;
    }
    made.birth.exact = made.exact = exact;
    made.birth.kept = result_.as(isUnsigned_, i_);
    made.isModular = isModular;
    made.isExact = isExact;
    return deviations_.add(made);
  }
  /// Keeps following `from`, whose value would be `exact`; it is none where the result is just
  /// that.
  OriginId follow(OriginId from, Wide exact, bool isModular, bool isUnsigned) {
    if (exact == result_.as(isUnsigned, i_))
      return kDefined;
    return deviations_.withExact(from, exact, isModular);
  }

  Wide combined(bool isUnsigned) const {
    const Wide x = exact(0, isUnsigned), y = exact(1, isUnsigned);
    if (op_ == Op::Add)
      return x + y;
    if (op_ == Op::Sub)
      return x - y;
    Wide product = 0;
    return __builtin_mul_overflow(x, y, &product) ? Wide(1) << 120 : product;
  }
  /// Of a product, whether it is one of a hash: a factor is the same for all elements, and known as
  /// one of those.
  bool isHash() {
    const auto isFactor = [&](const Integers &operand) {
      return isHashMultiplier(operand.asSigned(0)) && isSame(operand);
    };
    if (!isHash_)
      isHash_ = op_ == Op::Mul && llvm::any_of(operands_, isFactor);
    return *isHash_;
  }
  /// Step by step a number for all elements of a block is a block, too; so is a computed one.
  bool isSame(const Integers &operand) const {
    if (operand.isOne())
      return true;
    const auto equalsFirst = [&](int64_t i) {
      return operand.asUnsigned(i) == operand.asUnsigned(0);
    };
    return values_.count == result_.type().numElements() &&
           llvm::all_of(llvm::seq<int64_t>(1, values_.count), equalsFirst);
  }

  // Bits of unsigned integers may be negative numbers (x - 1 of an x that was cast): what is right
  // for one of the two is right.
  OriginId arithmetic() {
    const OriginId from = first();
    if (anyBits())
      return deviations_.bits();
    if (anyUnknown())
      return deviations_.unknown(from);
    const Wide asSigned = combined(false);
    if (!isUnsigned_) {
      if (asSigned == result_.as(false, i_))
        return kDefined;
      const bool isModular = anyModular() || isHash();
      return from == kDefined ? born(Mistake::SignedWrap, asSigned, isModular)
                              : deviations_.withExact(from, asSigned, isModular);
    }
    const Wide asUnsigned = combined(true);
    for (const Wide exact : {asSigned, asUnsigned})
      if (exact == result_.as(false, i_) || exact == result_.as(true, i_))
        return kDefined;
    if (from != kDefined)
      return deviations_.withExact(from, asUnsigned, true);
    return width_ < 64 ? born(Mistake::UnsignedWrap, asUnsigned, true) : kDefined;
  }

  OriginId shiftLeft() {
    const OriginId from = first();
    if (isTooFar())
      return from != kDefined ? deviations_.unknown(from)
                              : born(Mistake::ShiftTooFar, 0, false, false);
    if (anyBits())
      return deviations_.bits();
    if (anyUnknown() || id(1) != kDefined)
      return deviations_.unknown(from);
    const Wide exact = this->exact(0, isUnsigned_) * (Wide(1) << operands_[1].asUnsigned(i_));
    if (exact == result_.as(isUnsigned_, i_))
      return kDefined;
    if (from != kDefined)
      return deviations_.withExact(from, exact, isUnsigned_);
    return isUnsigned_ ? kDefined : born(Mistake::LostBits, exact, true);
  }

  bool isTooFar() const {
    return id(1) == kDefined && operands_[1].asUnsigned(i_) >= static_cast<uint64_t>(width_);
  }

  OriginId shiftRight() {
    const OriginId from = first();
    if (isTooFar())
      return from != kDefined ? deviations_.unknown(from)
                              : born(Mistake::ShiftTooFar, 0, false, false);
    if (anyUnknown() || id(1) != kDefined)
      return deviations_.unknown(from);
    if (from == kDefined || op_ == Op::ShrU)
      return isArithmeticMistake(from) ? deviations_.unknown(from) : kDefined;
    if (deviation(0)->birth.mistake == Mistake::LostBits)
      return kDefined; // (x << 28) >> 28 takes the sign of a part
    return follow(from, exact(0, false) >> operands_[1].asUnsigned(i_), true, false);
  }

  bool isArithmeticMistake(OriginId id) const {
    const Deviation *found = deviations_.find(id);
    return found && isArithmetic(found->birth.mistake);
  }

  /// Of bits: what is cut out of a wrapped integer is right, or meant.
  OriginId bitwise() {
    const OriginId from = first();
    if (isArithmeticMistake(from)) {
      const Integers &given = operands_[id(0) == from ? 1 : 0];
      const bool isGiven = given.deviation(i_) == kDefined;
      const uint64_t decides = op_ == Op::Or ? (width_ == 64 ? ~0ULL : (1ULL << width_) - 1) : 0;
      return isGiven && op_ != Op::Xor && given.asUnsigned(i_) == decides
                 ? kDefined
                 : deviations_.unknown(from);
    }
    const int64_t value = result_.asSigned(i_);
    const bool isPattern = value >= kPattern || value < -kPattern;
    return isPattern && (op_ == Op::Xor || from != kDefined) ? deviations_.bits() : kDefined;
  }

  OriginId logic() {
    const OriginId from = first();
    if (from == kDefined)
      return kDefined;
    if (anyUnknown()) {
      for (size_t k = 0; k < 2; ++k)
        if (op_ != Op::Xor && !isUnknown(k) && (exact(k, true) != 0) == (op_ == Op::Or))
          return follow(from, op_ == Op::Or, false, true);
      return deviations_.unknown(from);
    }
    const bool x = exact(0, true) != 0, y = exact(1, true) != 0;
    const bool made = op_ == Op::And ? x && y : op_ == Op::Or ? x || y : x != y;
    return follow(from, made, false, true);
  }

  OriginId divide() {
    const OriginId from = first();
    const bool isSigned = op_ == Op::DivS || op_ == Op::RemS;
    if (id(1) == kDefined && operands_[1].asUnsigned(i_) == 0)
      return from != kDefined ? deviations_.unknown(from)
                              : born(Mistake::DivisionByZero, 0, false, false);
    if (from == kDefined) {
      const bool leaves = op_ == Op::DivS && operands_[1].asSigned(i_) == -1 &&
                          operands_[0].asSigned(i_) == leastOf(width_);
      return leaves ? born(Mistake::DivisionOverflow, -leastOf(width_)) : kDefined;
    }
    if (anyUnknown() || isArithmeticMistake(from))
      return deviations_.unknown(from);
    if (!isSigned || anyModular())
      return kDefined;
    const Wide x = exact(0, false), y = exact(1, false);
    if (y == 0)
      return deviations_.unknown(from);
    return follow(from, op_ == Op::DivS ? x / y : x % y, false, false);
  }

  OriginId choose() {
    const OriginId from = first();
    if (from == kDefined || anyModular())
      return kDefined;
    if (anyUnknown())
      return deviations_.unknown(from);
    const bool isUnsigned = op_ == Op::MinU || op_ == Op::MaxU;
    const Wide x = exact(0, isUnsigned), y = exact(1, isUnsigned);
    const bool isLeast = op_ == Op::MinS || op_ == Op::MinU;
    return follow(from, isLeast ? std::min(x, y) : std::max(x, y), false, isUnsigned);
  }

  OriginId absolute() {
    if (const OriginId from = id(0)) {
      if (isUnknown(0))
        return deviations_.unknown(from);
      const Wide x = exact(0, false);
      return follow(from, x < 0 ? -x : x, false, false);
    }
    const bool leaves = operands_[0].asSigned(i_) == leastOf(width_);
    return leaves ? born(Mistake::SignedWrap, -leastOf(width_)) : kDefined;
  }

  /// Kernels test for a wrap by comparing with an operand, with 0, or with the exact value.
  bool isTest(size_t wrapped) const {
    const Deviation *found = deviation(wrapped);
    const size_t other = 1 - wrapped;
    if (!found || id(other) != kDefined)
      return false;
    const Wide value = operands_[other].asSigned(i_);
    const Fault &birth = found->birth;
    return value == 0 || value == birth.left || value == birth.right || value == found->exact;
  }

  OriginId compare() {
    const OriginId from = first();
    if (from == kDefined)
      return kDefined;
    if (anyUnknown())
      return deviations_.unknown(from);
    if (anyModular() || (!isArithmeticMistake(from) && (isTest(0) || isTest(1))))
      return kDefined;
    const llvm::StringRef predicate = predicateOf(values_.signature->attributes);
    const bool isUnsigned = predicate.starts_with("u");
    const Wide x = exact(0, isUnsigned), y = exact(1, isUnsigned);
    const bool holds = llvm::StringSwitch<bool>(predicate)
                           .Case("eq", x == y)
                           .Case("ne", x != y)
                           .Cases({"slt", "ult"}, x < y)
                           .Cases({"sle", "ule"}, x <= y)
                           .Cases({"sgt", "ugt"}, x > y)
                           .Default(x >= y);
    return follow(from, holds, false, true);
  }

  OriginId select() {
    const OriginId condition = id(0);
    const bool isTrue = operands_[0].asUnsigned(i_) != 0;
    if (condition == kDefined)
      return id(isTrue ? 1 : 2);
    const bool isInteger = result_.type().isInteger();
    const bool isSame = id(1) == kDefined && id(2) == kDefined &&
                        operands_[1].asUnsigned(i_) == operands_[2].asUnsigned(i_);
    if (isSame)
      return kDefined;
    const size_t wanted = isUnknown(0) ? 1 : deviations_[condition].exact != 0 ? 1 : 2;
    if (isUnknown(0) || !isInteger || isUnknown(wanted))
      return deviations_.unknown(condition);
    return follow(condition, exact(wanted, isUnsigned_), false, isUnsigned_);
  }

  OriginId extend() {
    const OriginId from = id(0);
    if (from == kDefined || isUnknown(0))
      return from;
    const bool isZero = op_ == Op::ExtendU;
    return deviations_[from].exact == result_.as(isZero, i_) ? kDefined : from;
  }

  // To 8 or 16 unsigned bits, and of bits: a part of a pattern, which is meant.
  OriginId truncate() {
    const OriginId from = id(0);
    if (from != kDefined && (isUnknown(0) || isArithmeticMistake(from)))
      return deviations_.unknown(from);
    if (isBits(0) || (isUnsigned_ && width_ < 32))
      return kDefined;
    const Integers &operand = operands_[0];
    if (from != kDefined)
      return follow(from, deviations_[from].exact, false, isUnsigned_);
    const int64_t value = operand.asSigned(i_);
    const bool isKept = isUnsigned_ ? operand.asUnsigned(i_) == result_.asUnsigned(i_) ||
                                          (value < 0 && value == result_.asSigned(i_))
                                    : value == result_.asSigned(i_);
    return isKept ? kDefined : born(Mistake::Narrowing, value, true);
  }

  OriginId floatToInt() {
    if (const OriginId from = id(0))
      return deviations_.unknown(from);
    const double value = floatAt(operands_[0].view(), i_);
    const bool isUnsigned = values_.signature->attributes.getBool("is_unsigned");
    return fits(value, width_, isUnsigned) ? kDefined : born(Mistake::FloatToInt, 0, false, false);
  }

  OriginId addPointer() {
    const OriginId from = first();
    if (from == kDefined || isBits(0) || isBits(1))
      return kDefined;
    if (anyUnknown())
      return anyModular() ? kDefined : deviations_.unknown(from);
    const bool isUnsigned = values_.signature->attributes.getBool("is_unsigned");
    const Wide bytes = result_.type().pointee().elementBytes();
    const Wide address = deviation(0) ? deviation(0)->exact : operands_[0].as(true, i_);
    return follow(from, address + exact(1, isUnsigned) * bytes, false, true);
  }

  /// Of floats and functions: nobody knows what the result would be.
  OriginId other() {
    for (size_t k = 0; k < operands_.size(); ++k)
      if (const OriginId from = deviations_.unknown(id(k)))
        return from;
    return kDefined;
  }

  const OpValues &values_;
  llvm::ArrayRef<Integers> operands_;
  const Integers &result_;
  Deviations &deviations_;
  Wanted wanted_;
  Op op_;
  bool isUnsigned_;
  int width_;
  int64_t i_ = 0;
  std::optional<bool> isHash_; ///< once it is asked
};

} // namespace

int64_t Integers::asSigned(int64_t i) const {
  const uint64_t bits = asUnsigned(i);
  const int bytes = type().elementBytes();
  return type().isBool() || bytes == 8 ? static_cast<int64_t>(bits)
         : bytes == 4                  ? static_cast<int32_t>(bits)
         : bytes == 2                  ? static_cast<int16_t>(bits)
                                       : static_cast<int8_t>(bits);
}

bool isOutOfRange(const OpValues &cast) {
  const bool isUnsigned = cast.signature->attributes.getBool("is_unsigned");
  const int width = widthOf(cast.signature->results[0]);
  const ValueView &floats = cast.operands[0];
  const int64_t count = floats.elements(cast.count);
  for (int64_t i = 0; i < count; ++i)
    if (!fits(floatAt(floats, i), width, isUnsigned))
      return true;
  return false;
}

bool mayDeviate(const OpValues &values, Wanted wanted) {
  const Op op = opOf(values.signature->name);
  if (values.results.empty() || op == Op::Other)
    return false;
  const ShadowValues none;
  llvm::SmallVector<Integers, 3> operands;
  for (const ValueView &view : values.operands)
    operands.emplace_back(view, none);
  const Integers result(values.results.front(), none);
  const int64_t count = values.results.front().elements(values.count);
  const int width = widthOf(result.type());
  const bool isUnsigned = values.op->isUnsigned;
  const auto any = [&](auto test) {
    for (int64_t i = 0; i < count; ++i)
      if (test(i))
        return true;
    return false;
  };
  const auto isTooFar = [&](int64_t i) {
    return operands[1].asUnsigned(i) >= static_cast<uint64_t>(width);
  };
  switch (op) {
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
    return wanted.wraps && (!isUnsigned || width < 64) &&
           anySignedWrap(op, operands[0], operands[1], count);
  case Op::Shl:
    return any([&](int64_t i) {
      return (wanted.arithmetic && isTooFar(i)) ||
             (wanted.wraps && !isUnsigned && !isTooFar(i) &&
              result.asSigned(i) >> operands[1].asUnsigned(i) != operands[0].asSigned(i));
    });
  case Op::ShrS:
  case Op::ShrU:
    return wanted.arithmetic && any(isTooFar);
  case Op::Xor:
    return wanted.wraps && !result.type().isBool() && any([&](int64_t i) {
             const int64_t value = result.asSigned(i);
             return value >= kPattern || value < -kPattern;
           });
  case Op::DivS:
  case Op::DivU:
  case Op::RemS:
  case Op::RemU:
    return wanted.arithmetic && any([&](int64_t i) {
             return operands[1].asUnsigned(i) == 0 ||
                    (op == Op::DivS && operands[1].asSigned(i) == -1 &&
                     operands[0].asSigned(i) == leastOf(width));
           });
  case Op::Abs:
    return wanted.wraps &&
           any([&](int64_t i) { return operands[0].asSigned(i) == leastOf(width); });
  case Op::Truncate:
    return wanted.wraps && !(isUnsigned && width < 32) && any([&](int64_t i) {
             return operands[0].asSigned(i) != result.asSigned(i) &&
                    (!isUnsigned || operands[0].asUnsigned(i) != result.asUnsigned(i));
           });
  case Op::FloatToInt:
    return wanted.arithmetic && isOutOfRange(values);
  default:
    return false;
  }
}

Shadow followExactly(const OpValues &values, llvm::ArrayRef<Integers> operands,
                     Deviations &deviations, Wanted wanted, bool mayBeBorn) {
  const int64_t count = values.results.front().elements(values.count);
  int64_t first = mayBeBorn ? 0 : count, last = mayBeBorn ? count : 0;
  for (const Integers &operand : operands) {
    const auto [begin, end] = operand.range(count);
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  if (first >= last)
    return {};
  const ShadowValues none;
  const Integers result(values.results.front(), none);
  Shadow shadow = Shadow::of(first, last);
  Rules rules(values, operands, result, deviations, wanted);
  for (int64_t i = first; i < last; ++i)
    shadow.origin(i) = rules.element(i);
  return shadow;
}

} // namespace blockscope::sanitizer
