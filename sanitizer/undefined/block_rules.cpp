// Rules of ops that work on whole blocks: what moves, and what puts elements together.
//
// A row that is undefined as a whole is likely padding, and its result is dropped like it. A row in
// which defined elements meet undefined ones gives a result that is wrong wherever it goes: its
// origin is marked as mixed.
#include "sanitizer/undefined/rules.h"

#include "core/numeric/scalar.h"
#include "interpreter/evaluator.h"
#include "sanitizer/rows.h"

#include <cstring>
#include <numeric>

namespace blockscope::sanitizer {
namespace {

/// What elements that are put together one after another become.
class Meeting {
public:
  explicit Meeting(const RuleInput &input) : input_(input) {}
  void add(OriginId origin) {
    (origin == kDefined ? hasDefined_ : hasUndefined_) = true;
    if (first_ == kDefined)
      first_ = origin;
  }
  OriginId result() {
    if (!hasUndefined_)
      return kDefined;
    const OpInfo &op = *input_.values.op;
    return hasDefined_ ? input_.origins.mixed(op, first_) : input_.origins.after(op, first_);
  }

private:
  const RuleInput &input_;
  OriginId first_ = kDefined;
  bool hasDefined_ = false, hasUndefined_ = false;
};

/// Of tl.gather, by its indices.
std::vector<int32_t> gatheredNumbers(const OpValues &values) {
  const auto axis = static_cast<size_t>(values.signature->attributes.getInt("axis"));
  const ValueView &index = values.operands[1];
  const Rows source(*values.operands[0].type, axis), result(*index.type, axis);
  const auto *bytes = static_cast<const std::byte *>(index.data);
  const bool isOne = index.extent == ValueView::Extent::One;
  std::vector<int32_t> numbers(static_cast<size_t>(result.count * result.length), kNoElement);
  for (int64_t i = 0; i < static_cast<int64_t>(numbers.size()); ++i) {
    const int64_t k =
        numeric::readAsInt(index.type->dtype, bytes + (isOne ? 0 : i) * index.type->elementBytes());
    if (k >= 0 && k < source.length)
      numbers[static_cast<size_t>(i)] = static_cast<int32_t>(source.at(result.rowOf(i), k));
  }
  return numbers;
}

/// Lets the op's own evaluator move numbers of the operands' elements. Empty if it cannot.
std::vector<std::vector<int32_t>> moveNumbers(const OpValues &values) {
  OpSignature signature = *values.signature;
  std::vector<std::vector<int32_t>> numbers;
  llvm::SmallVector<const void *, 4> operands;
  int32_t next = 0;
  for (size_t i = 0; i < signature.operands.size(); ++i) {
    signature.operands[i] = Type::get(DType::Int32, signature.operands[i].shape);
    std::vector<int32_t> &each =
        numbers.emplace_back(static_cast<size_t>(signature.operands[i].numElements()));
    std::iota(each.begin(), each.end(), next);
    next += static_cast<int32_t>(each.size());
    operands.push_back(each.data());
  }
  std::vector<std::vector<int32_t>> moved;
  llvm::SmallVector<void *, 2> results;
  for (Type &type : signature.results) {
    type = Type::get(DType::Int32, type.shape);
    results.push_back(moved.emplace_back(static_cast<size_t>(type.numElements())).data());
  }
  const EvaluatorOrError chosen = EvaluatorTable::instance().choose(signature);
  const Evaluator &evaluator = chosen.evaluator;
  if (!chosen.error.empty())
    return {};
  if (evaluator.form == Evaluator::Form::Elementwise) {
    const int64_t count = signature.results[0].numElements();
    uint32_t scalars = 0;
    for (size_t i = 0; i < signature.operands.size(); ++i)
      scalars |= signature.operands[i].numElements() == 1 && count != 1 ? 1U << i : 0;
    evaluator.elementwise(count, 0, results.data(), operands.data(), scalars,
                          evaluator.payload.get());
  } else if (evaluator.form == Evaluator::Form::Block) {
    evaluator.block(results.data(), operands.data(), evaluator.payload.get());
  } else {
    return {};
  }
  return moved;
}

} // namespace

const std::vector<std::vector<int32_t>> &movesOf(const OpValues &values, Moves &moves) {
  const auto [known, isNew] = moves.try_emplace(values.signature);
  if (values.signature->name == "tl.gather")
    known->second = {gatheredNumbers(values)};
  else if (isNew)
    known->second = moveNumbers(values);
  return known->second;
}

Shadows moveElements(const RuleInput &input) {
  Shadows made;
  for (const std::vector<int32_t> &from : movesOf(input.values, input.moves)) {
    Shadow shadow = Shadow::of(0, static_cast<int64_t>(from.size()));
    shadow.bits.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] == kNoElement)
        continue;
      size_t operand = 0;
      int64_t element = from[i];
      for (int64_t size; element >= (size = input.operands[operand].type().numElements());
           ++operand)
        element -= size;
      shadow.origins[i] = input.operands[operand].origin(element);
      shadow.bits[i] = input.operands[operand].undefinedBits(element);
    }
    made.push_back(std::move(shadow));
  }
  return made;
}

Shadows gatherElements(const RuleInput &input) {
  Shadows made = moveElements(input);
  if (made.empty())
    return made;
  Shadow &shadow = made.front();
  for (size_t i = 0; i < shadow.origins.size(); ++i)
    if (const OriginId origin = input.operands[1].origin(static_cast<int64_t>(i))) {
      shadow.origins[i] = input.origins.after(*input.values.op, origin);
      shadow.bits[i] = input.operands[0].mask();
    }
  return made;
}

Shadows reduceAlongAxis(const RuleInput &input) {
  const Rows rows(input.operands[0].type(),
                  static_cast<size_t>(input.values.signature->attributes.getInt("axis")));
  const OpInfo &op = *input.values.op;
  Shadow shadow = Shadow::of(0, rows.count);
  for (const ShadowedView &operand : input.operands) {
    std::vector<int64_t> undefined(static_cast<size_t>(rows.count));
    std::vector<OriginId> origins(undefined.size());
    const auto [first, last] = operand.range(rows.count * rows.length);
    for (int64_t i = first; i < last; ++i)
      if (const OriginId origin = operand.origin(i)) {
        const auto row = static_cast<size_t>(rows.rowOf(i));
        if (undefined[row]++ == 0)
          origins[row] = origin;
      }
    for (int64_t row = 0; row < rows.count; ++row) {
      if (undefined[row] == 0)
        continue;
      const bool isMixed = undefined[row] != rows.length;
      if (isMixed || shadow.origin(row) == kDefined)
        shadow.origin(row) =
            isMixed ? input.origins.mixed(op, origins[row]) : input.origins.after(op, origins[row]);
    }
  }
  return withoutDropped(input, Shadows(input.values.results.size(), shadow));
}

Shadows scanAlongAxis(const RuleInput &input) {
  const Attributes &attributes = input.values.signature->attributes;
  const Rows rows(input.operands[0].type(), static_cast<size_t>(attributes.getInt("axis")));
  const bool isReversed = attributes.getBool("reverse");
  Shadow shadow = Shadow::of(0, rows.count * rows.length);
  for (int64_t row = 0; row < rows.count; ++row) {
    Meeting meeting(input);
    for (int64_t step = 0; step < rows.length; ++step) {
      const int64_t i = rows.at(row, isReversed ? rows.length - 1 - step : step);
      for (const ShadowedView &operand : input.operands)
        if (!operand.isDefined())
          meeting.add(operand.origin(i));
      shadow.origins[i] = meeting.result();
    }
  }
  return withoutDropped(input, Shadows(input.values.results.size(), shadow));
}

Shadows mapGroups(const RuleInput &input) {
  const int64_t pack = std::max<int64_t>(1, input.values.signature->attributes.getInt("pack", 1));
  const int64_t count = input.operands[0].type().numElements();
  Shadow shadow = Shadow::of(0, count);
  for (int64_t group = 0; group < count; group += pack) {
    const int64_t end = std::min(group + pack, count);
    Meeting meeting(input);
    for (int64_t i = group; i < end; ++i)
      for (const ShadowedView &operand : input.operands)
        if (const OriginId origin = operand.origin(i))
          meeting.add(origin);
    for (int64_t i = group; i < end; ++i)
      shadow.origins[i] = meeting.result();
  }
  return Shadows(input.values.results.size(), shadow);
}

namespace {

/// Of each row of `a` (or column of `b`): the origin of an undefined element, and whether it has
/// defined ones too.
struct DotSide {
  std::vector<OriginId> origins;
  std::vector<bool> isMixed;
};

DotSide sideOf(const ShadowedView &view, int64_t batch, int64_t count, int64_t depth,
               bool isRight) {
  DotSide side{std::vector<OriginId>(count), std::vector<bool>(count)};
  if (view.isDefined())
    return side;
  for (int64_t i = 0; i < count; ++i) {
    int64_t undefined = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t place = batch * count * depth + (isRight ? k * count + i : i * depth + k);
      if (const OriginId origin = view.origin(place)) {
        ++undefined;
        side.origins[i] = side.origins[i] ? side.origins[i] : origin;
      }
    }
    side.isMixed[i] = undefined != 0 && undefined != depth;
  }
  return side;
}

} // namespace

Shadows dotRows(const RuleInput &input) {
  const ShadowedView &a = input.operands[0], &b = input.operands[1], &acc = input.operands[2];
  const llvm::ArrayRef<int64_t> left = a.type().shape, right = b.type().shape;
  const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  Shadow shadow = Shadow::of(0, acc.type().numElements());
  for (int64_t batch = 0; batch < a.type().numElements() / (m * k); ++batch) {
    const DotSide rows = sideOf(a, batch, m, k, false), columns = sideOf(b, batch, n, k, true);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t element = (batch * m + i) * n + j;
        const OriginId origin = rows.origins[i]      ? rows.origins[i]
                                : columns.origins[j] ? columns.origins[j]
                                                     : acc.origin(element);
        if (origin == kDefined)
          continue;
        const OpInfo &op = *input.values.op;
        shadow.origins[element] = rows.isMixed[i] || columns.isMixed[j]
                                      ? input.origins.mixed(op, origin)
                                      : input.origins.after(op, origin);
      }
  }
  return {std::move(shadow)};
}

Shadows sortRows(const RuleInput &input) {
  const Type &type = input.operands[0].type();
  const Rows rows(type, type.shape.size() - 1);
  Shadow shadow = Shadow::of(0, type.numElements());
  for (int64_t row = 0; row < rows.count; ++row) {
    Meeting meeting(input);
    for (int64_t k = 0; k < rows.length; ++k)
      meeting.add(input.operands[0].origin(rows.at(row, k)));
    for (int64_t k = 0; k < rows.length; ++k)
      shadow.origins[rows.at(row, k)] = meeting.result();
  }
  return {std::move(shadow)};
}

Shadows countAll(const RuleInput &input) {
  const bool isMasked = input.operands.size() > 1;
  Meeting meeting(input);
  for (int64_t i = 0; i < input.operands[0].type().numElements(); ++i) {
    if (isMasked && input.operands[1].origin(i))
      meeting.add(input.operands[1].origin(i));
    else if (!isMasked || input.operands[1].value(i))
      meeting.add(input.operands[0].origin(i));
  }
  const int64_t bins = input.values.results[0].type->numElements();
  return {Shadow{0, std::vector<OriginId>(static_cast<size_t>(bins), meeting.result())}};
}

} // namespace blockscope::sanitizer
