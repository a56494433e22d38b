// Walks the operands' elements of each result element that is a NaN or an infinity.
#include "sanitizer/nan/follow.h"

#include "core/numeric/scalar.h"
#include "core/op_facts.h"
#include "interpreter/evaluator.h"
#include "sanitizer/rows.h"

#include <algorithm>
#include <cmath>

namespace blockscope::sanitizer {
namespace {

/// An element of an operand.
struct Input {
  size_t operand;
  int64_t element;
};

enum class Form : uint8_t { Elementwise, Select, Moves, Rows, Prefixes, Dot, Groups, Nothing };

Form formOf(const OpValues &values) {
  const llvm::StringRef name = values.signature->name;
  if (name == "arith.select")
    return Form::Select;
  const OpFacts *facts = findOpFacts(name);
  if (!facts || facts->isElementwise)
    return Form::Elementwise;
  switch (facts->family) {
  case OpFamily::Shape:
  case OpFamily::Gather:
    return Form::Moves;
  case OpFamily::Reduce:
  case OpFamily::Sort:
    return Form::Rows;
  case OpFamily::Scan:
    return Form::Prefixes;
  case OpFamily::Dot:
    return Form::Dot;
  case OpFamily::Map:
    return Form::Groups;
  case OpFamily::InlineAsm:
    return Form::Elementwise;
  case OpFamily::Elementwise: // a constant
  case OpFamily::Math:
  case OpFamily::Casts:
  case OpFamily::Memory:
  case OpFamily::Atomics:
  case OpFamily::Histogram:
  case OpFamily::ExternLibdevice:
  case OpFamily::Debug:
    return Form::Nothing;
  }
  return Form::Nothing;
}

/// Which elements of the operands an element of a result is made of.
class Inputs {
public:
  Inputs(const OpValues &values, Moves &moves) : values_(values), form_(formOf(values)) {
    if (form_ == Form::Moves)
      moves_ = &movesOf(values, moves);
  }

  Form form() const { return form_; }
  bool isBlockOp() const {
    return form_ == Form::Rows || form_ == Form::Prefixes || form_ == Form::Dot ||
           form_ == Form::Groups;
  }

  /// Calls `visit` for each; stops where it says true.
  void forEach(size_t result, int64_t i, llvm::function_ref<bool(Input)> visit) const {
    switch (form_) {
    case Form::Elementwise:
      forEachOperand(i, i + 1, visit);
      return;
    case Form::Select:
      visit({readBool(0, i) ? size_t{1} : size_t{2}, i});
      return;
    case Form::Moves:
      moved(result, i, visit);
      return;
    case Form::Rows:
    case Form::Prefixes:
      alongAxis(i, visit);
      return;
    case Form::Dot:
      ofDot(i, visit);
      return;
    case Form::Groups: {
      const int64_t pack = std::max<int64_t>(1, attributes().getInt("pack", 1));
      forEachOperand(i / pack * pack, (i / pack + 1) * pack, visit);
      return;
    }
    case Form::Nothing:
      return;
    }
  }

  /// How many elements go into one, of ops over whole blocks.
  int64_t combined() const {
    int64_t count = 0;
    if (isBlockOp())
      forEach(0, values_.results[0].type->numElements() - 1, [&](Input) { return ++count, false; });
    return form_ == Form::Dot ? count / 2 : count;
  }

private:
  const Attributes &attributes() const { return values_.signature->attributes; }
  bool readBool(size_t operand, int64_t i) const {
    const ValueView &view = values_.operands[operand];
    return static_cast<const uint8_t *>(view.data)[view.extent == ValueView::Extent::One ? 0 : i] !=
           0;
  }

  void forEachOperand(int64_t begin, int64_t end, llvm::function_ref<bool(Input)> visit) const {
    for (size_t k = 0; k < values_.operands.size(); ++k)
      for (int64_t i = begin; i < end; ++i)
        if (visit({k, i}))
          return;
  }

  void moved(size_t result, int64_t i, llvm::function_ref<bool(Input)> visit) const {
    if (result >= moves_->size())
      return;
    int64_t element = (*moves_)[result][static_cast<size_t>(i)];
    if (element == kNoElement)
      return;
    for (size_t k = 0; k < values_.operands.size(); ++k) {
      const int64_t size = values_.operands[k].type->numElements();
      if (element < size) {
        visit({k, element});
        return;
      }
      element -= size;
    }
  }

  void alongAxis(int64_t i, llvm::function_ref<bool(Input)> visit) const {
    const Type &type = *values_.operands[0].type;
    const bool isSort = values_.signature->name == "tl.sort";
    const auto axis =
        isSort ? type.shape.size() - 1 : static_cast<size_t>(attributes().getInt("axis"));
    const Rows rows(type, axis);
    const int64_t row = form_ == Form::Prefixes || isSort ? rows.rowOf(i) : i;
    int64_t first = 0, last = rows.length;
    if (form_ == Form::Prefixes) {
      const int64_t k = (i - rows.at(row, 0)) / rows.inner;
      attributes().getBool("reverse") ? first = k : last = k + 1;
    }
    for (size_t operand = 0; operand < values_.operands.size(); ++operand)
      for (int64_t k = first; k < last; ++k)
        if (visit({operand, rows.at(row, k)}))
          return;
  }

  void ofDot(int64_t i, llvm::function_ref<bool(Input)> visit) const {
    const llvm::ArrayRef<int64_t> left = values_.operands[0].type->shape,
                                  right = values_.operands[1].type->shape;
    const int64_t m = left[left.size() - 2], depth = left.back(), n = right.back();
    const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    if (visit({2, i}))
      return;
    for (int64_t k = 0; k < depth; ++k)
      if (visit({0, (batch * m + row) * depth + k}) || visit({1, (batch * depth + k) * n + column}))
        return;
  }

  const OpValues &values_;
  Form form_;
  const std::vector<std::vector<int32_t>> *moves_ = nullptr;
};

/// Whether an op makes what its operands did not have, and does not only move it.
bool computes(const OpValues &values, Form form) {
  return form != Form::Moves && form != Form::Select && form != Form::Nothing &&
         values.signature->name != "tl.bitcast" && values.signature->name != "tl.hint" &&
         values.signature->name != "tl.sort" && !values.operands.empty();
}

/// The name that a report has for an op.
std::string wordOfOp(const OpValues &values, const Inputs &inputs) {
  const OpSignature &signature = *values.signature;
  const llvm::StringRef name = signature.name;
  if (name == "tl.fp_cast" || name == "tl.int_to_float")
    return dtypeName(values.results[0].type->dtype).str();
  if (name == "tl.extern_elementwise") {
    llvm::StringRef symbol = signature.attributes.getString("symbol");
    symbol.consume_front("__nv_");
    return symbol.str();
  }
  if (name == "tl.inline_asm" || name == "tl.inline_asm_volatile")
    return "inline assembly";
  if (inputs.isBlockOp())
    return inputs.form() == Form::Dot ? "dot"
           : name == "tl.reduce"      ? "reduction"
           : name == "tl.scan"        ? "scan"
                                      : "map";
  return name.str();
}

class Follower {
public:
  Follower(const OpValues &values, ShadowValues &shadows, BirthTable &births, Moves &moves)
      : values_(values), shadows_(shadows), births_(births), inputs_(values, moves),
        computes_(computes(values, inputs_.form())) {
    for (const ValueView &operand : values.operands)
      operands_.emplace_back(operand, shadows);
  }

  void follow() {
    llvm::SmallVector<Shadow, 2> made;
    for (size_t k = 0; k < values_.results.size(); ++k)
      made.push_back(values_.results[k].type->isFloating() ? floats(k) : others(k));
    for (size_t k = 0; k < made.size(); ++k)
      shadows_.set(values_.results[k].data, std::move(made[k]));
  }

private:
  bool isFloating(size_t operand) const { return values_.operands[operand].type->isFloating(); }
  const std::byte *element(const Input &input) const {
    const ValueView &view = values_.operands[input.operand];
    const int64_t i = view.extent == ValueView::Extent::One ? 0 : input.element;
    return static_cast<const std::byte *>(view.data) + i * view.type->elementBytes();
  }
  FloatClass classAt(const Input &input) const {
    return isFloating(input.operand)
               ? classOf(values_.operands[input.operand].type->dtype, element(input))
               : FloatClass::Finite;
  }
  OriginId originAt(const Input &input) const {
    return operands_[input.operand].origin(input.element);
  }

  Shadow floats(size_t result) {
    const ValueView &view = values_.results[result];
    const int64_t count = view.elements(values_.count);
    const std::optional<double> limit =
        values_.signature->name == "tl.fp_cast" ? saturatesFrom(view.type->dtype) : std::nullopt;
    if (computes_ && !limit && !hasNonFinite(view.type->dtype, view.data, count))
      return {};
    Shadow shadow = Shadow::of(0, count);
    const auto *elements = static_cast<const std::byte *>(view.data);
    for (int64_t i = 0; i < count; ++i) {
      const FloatClass made = classOf(view.type->dtype, elements + i * view.type->elementBytes());
      if (made != FloatClass::Finite)
        shadow.origin(i) = originOf(result, i, made);
      else if (limit)
        shadow.origin(i) = saturated(i, *limit);
      else if (!computes_)
        shadow.origin(i) = movedOrigin(result, i);
    }
    return shadow;
  }

  /// Of a finite result that is too small: the cast, or what made the infinity.
  OriginId saturated(int64_t i, double limit) {
    const Input input = {0, i};
    const double value = numeric::readAsDouble(values_.operands[0].type->dtype, element(input));
    if (!(std::abs(value) >= limit))
      return kDefined;
    return std::isinf(value) ? originAt(input) : bear(0, i, FloatClass::Finite, false, kDefined);
  }

  /// Finite elements of which something is to be said are only moved: no op keeps it.
  OriginId movedOrigin(size_t result, int64_t i) const {
    OriginId origin = kDefined;
    inputs_.forEach(result, i, [&](Input input) { return origin = originAt(input), true; });
    return origin;
  }

  /// The origin of a NaN or an infinity.
  OriginId originOf(size_t result, int64_t i, FloatClass made) {
    const bool isNaN = made == FloatClass::NaN;
    bool hasPlain = false, hasGiven = false, hasInfinity = false, hasGivenInfinity = false;
    OriginId born = kDefined, bornInfinity = kDefined;
    inputs_.forEach(result, i, [&](Input input) {
      const OriginId origin = originAt(input);
      const FloatClass each = classAt(input);
      if (each == FloatClass::Finite) {
        if (!computes_ && isBorn(origin)) // bits that were moved, or taken for a float
          born = origin;
        return false;
      }
      const bool isInfinity = each != FloatClass::NaN;
      hasInfinity |= isInfinity;
      if (isNaN && isInfinity) {
        hasGivenInfinity |= origin == kGiven;
        bornInfinity = bornInfinity ? bornInfinity : isBorn(origin) ? origin : kDefined;
      } else if (isNaN || isInfinity) {
        hasPlain |= origin == kDefined;
        hasGiven |= origin == kGiven;
        born = born ? born : isBorn(origin) ? origin : kDefined;
      }
      return false;
    });
    if (hasGiven || (isNaN && hasPlain))
      return kGiven;
    if (hasPlain)
      return kDefined;
    if (born || !computes_)
      return born;
    if (hasGivenInfinity)
      return kGiven;
    return bear(result, i, made, hasInfinity, bornInfinity);
  }

  OriginId bear(size_t result, int64_t i, FloatClass made, bool hasInfinity, OriginId parent) {
    if (!hasEvent_) {
      hasEvent_ = true;
      births_.begin({values_.op, values_.program,
                     llvm::SmallVector<int64_t, 4>(values_.loopIterations.begin(),
                                                   values_.loopIterations.end()),
                     *values_.results[result].type, wordOfOp(values_, inputs_),
                     inputs_.combined()});
    }
    FloatBirth birth;
    birth.made = made;
    birth.parent = parent;
    birth.lane = values_.begin + i;
    const auto take = [&](const Input &input) {
      const Type &type = *values_.operands[input.operand].type;
      birth.operands[birth.numOperands++] =
          type.isFloating()
              ? numeric::readAsDouble(type.dtype, element(input))
              : static_cast<double>(
                    type.isPointer() ? 0 : numeric::readAsInt(type.dtype, element(input)));
    };
    FloatClass seen = FloatClass::Finite;
    inputs_.forEach(result, i, [&](Input input) {
      if (inputs_.isBlockOp()) { // the first infinity of each kind
        const FloatClass each = classAt(input);
        if (each == FloatClass::Finite || each == seen)
          return false;
        seen = each;
      }
      take(input);
      return birth.numOperands == (inputs_.isBlockOp() ? 2 : birth.operands.size());
    });
    birth.kind = kindOf(birth, hasInfinity);
    return births_.add(birth);
  }

  BirthKind kindOf(const FloatBirth &birth, bool hasInfinity) const {
    const llvm::StringRef name = values_.signature->name;
    if (birth.made == FloatClass::Finite)
      return BirthKind::Saturated;
    if (birth.made == FloatClass::NaN)
      return hasInfinity ? BirthKind::OfInfinities : BirthKind::Domain;
    if (name == "tl.fp_cast" || name == "tl.int_to_float")
      return BirthKind::Cast;
    const bool isPole = (name == "arith.divf" && birth.operands[1] == 0) ||
                        ((name == "math.log" || name == "math.log2" || name == "math.rsqrt" ||
                          name == "tl.extern_elementwise") &&
                         birth.operands[0] == 0);
    return isPole ? BirthKind::Pole : BirthKind::Overflow;
  }

  /// Integers that were made of a NaN or an infinity, and what becomes of them.
  Shadow others(size_t result) {
    const ValueView &view = values_.results[result];
    if (llvm::all_of(operands_, [](const ShadowedView &each) { return each.isDefined(); }))
      return {};
    const int64_t count = view.elements(values_.count);
    Shadow shadow = Shadow::of(0, count);
    for (int64_t i = 0; i < count; ++i)
      inputs_.forEach(result, i, [&](Input input) {
        const OriginId origin = originAt(input);
        if (!isBorn(origin) || !goesOn(view, i, input))
          return false;
        shadow.origin(i) = origin;
        return true;
      });
    return shadow;
  }

  /// Whether an element of a result that is no float depends on this input of it.
  bool goesOn(const ValueView &result, int64_t i, const Input &input) const {
    const llvm::StringRef name = values_.signature->name;
    if (name == "arith.cmpf")
      return classAt(input) == FloatClass::NaN && !isTest(input);
    if (name == "tl.float_to_int" || name == "tl.bitcast" || !computes_)
      return true;
    return !isFloating(input.operand) && !isReplaced(name, result, i, input);
  }

  /// `x != x`, or a comparison with infinity: the kernel looks for what was born.
  bool isTest(const Input &input) const {
    if (values_.operands[0].data == values_.operands[1].data)
      return true;
    const FloatClass other = classAt({1 - input.operand, input.element});
    return other == FloatClass::Plus || other == FloatClass::Minus;
  }

  /// Whether a bound or a mask took the place of an integer.
  bool isReplaced(llvm::StringRef name, const ValueView &result, int64_t i,
                  const Input &input) const {
    const bool isBound = name == "arith.maxsi" || name == "arith.maxui" || name == "arith.minsi" ||
                         name == "arith.minui" || name == "arith.andi" || name == "arith.ori" ||
                         name == "arith.muli";
    if (!isBound || values_.operands.size() != 2)
      return false;
    const Input other = {1 - input.operand, input.element};
    const int bytes = result.type->elementBytes();
    return !isBorn(originAt(other)) &&
           std::equal(element(other), element(other) + bytes,
                      static_cast<const std::byte *>(result.data) + i * bytes);
  }

  const OpValues &values_;
  ShadowValues &shadows_;
  BirthTable &births_;
  Inputs inputs_;
  bool computes_;
  bool hasEvent_ = false;
  llvm::SmallVector<ShadowedView, 4> operands_;
};

} // namespace

void followFloats(const OpValues &values, ShadowValues &shadows, BirthTable &births, Moves &moves) {
  bool isPlain = shadows.empty();
  for (const ValueView &result : values.results)
    isPlain &= !result.type->isFloating() ||
               !(hasNonFinite(result.type->dtype, result.data, result.elements(values.count)) ||
                 saturatesFrom(result.type->dtype));
  if (isPlain || values.results.empty())
    return;
  Follower(values, shadows, births, moves).follow();
}

} // namespace blockscope::sanitizer
