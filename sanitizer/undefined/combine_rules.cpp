// Reductions and scans by a function of several ops, which are followed one by one.
//
// Such a function may drop what has no value: flags go along with the numbers, and tl.where asks
// them. Its elements are tuples here, which have numbers; the blocks that reduceBlocks and
// scanBlocks go over hold these numbers, and each step makes new tuples of all its lanes at once.
#include "core/op_facts.h"
#include "interpreter/combine_region.h"
#include "sanitizer/undefined/rules.h"

#include <cstring>

namespace blockscope::sanitizer {
namespace {

/// Whether an element is undefined is asked here, not where it comes from.
class AnyOrigin final : public OriginRules {
public:
  OriginId after(const OpInfo & /*op*/, OriginId origin) override { return origin; }
  OriginId mixed(const OpInfo & /*op*/, OriginId origin) override { return origin; }
};
constexpr OriginId kSome = kDefined + 1;

bool isShape(llvm::StringRef name) {
  const OpFacts *facts = findOpFacts(name);
  return facts && facts->family == OpFamily::Shape;
}

class Tuples {
public:
  explicit Tuples(const RuleInput &input);

  /// False: an op of the function is not known here.
  bool chooseOps();
  /// Numbers of the combined tuples, in the order of the elements of a result.
  std::vector<int32_t> combine();
  /// The undefined bits of part `k` of a tuple.
  uint64_t undefinedBits(int32_t tuple, size_t k) const {
    return parts_[static_cast<size_t>(tuple) * count_ + k].undefined;
  }

private:
  struct Part {
    uint64_t value, undefined;
  };
  /// A value of the function, in all lanes of a step.
  struct Lanes {
    const void *data;
    Type type;
    bool isOne;

    ValueView view() const {
      using Extent = ValueView::Extent;
      return {data, &type, isOne ? Extent::One : Extent::Strip};
    }
  };
  using Buffer = std::vector<uint64_t>;

  void combineLanes(int64_t n, int32_t *out, const int32_t *lhs, const int32_t *rhs);
  /// Part `k` of some tuples, with its shadow.
  Lanes gather(int64_t n, const int32_t *tuples, size_t k, Buffer &to, ShadowValues &shadows) const;
  Lanes run(size_t op, int64_t n, llvm::ArrayRef<Lanes> numbered, Buffer &to,
            ShadowValues &shadows);

  const RuleInput &input_;
  CombineRegion region_;
  std::vector<Evaluator> evaluators_; ///< by op; none for those that change no element
  size_t count_;                      ///< parts of a tuple
  std::vector<Part> parts_;
  AnyOrigin origins_;
  Moves moves_;
};

Tuples::Tuples(const RuleInput &input)
    : input_(input), region_(*input.values.region), count_(input.operands.size()) {
  const int64_t elements = input.operands[0].type().numElements();
  parts_.reserve(static_cast<size_t>(2 * elements) * count_);
  for (int64_t i = 0; i < elements; ++i)
    for (const ShadowedView &operand : input.operands)
      parts_.push_back({operand.value(i), operand.undefinedBits(i)});
}

/// Shapes say nothing in the function: each lane is an element.
bool Tuples::chooseOps() {
  for (CombineOp &op : region_.ops) {
    Evaluator &evaluator = evaluators_.emplace_back();
    for (Type &type : op.signature.operands)
      type = type.scalar();
    for (Type &type : op.signature.results)
      type = type.scalar();
    if (op.operands.empty() || isShape(op.signature.name))
      continue;
    EvaluatorOrError chosen = EvaluatorTable::instance().choose(op.signature);
    evaluator = std::move(chosen.evaluator);
    if (!chosen.error.empty() || !evaluator.elementwise)
      return false;
  }
  return true;
}

std::vector<int32_t> Tuples::combine() {
  const OpSignature &signature = *input_.values.signature;
  const Type numbers = Type::get(DType::Int32, signature.operands[0].shape);
  const auto axis = static_cast<int>(signature.attributes.getInt("axis"));
  std::vector<int32_t> given(static_cast<size_t>(numbers.numElements()));
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = static_cast<int32_t>(i);
  std::vector<int32_t> made(static_cast<size_t>(signature.results[0].numElements()));
  const void *const operands = given.data();
  void *const results = made.data();
  const auto lanes = [this](int64_t n, void *const *out, const void *const *lhs,
                            const void *const *rhs) {
    combineLanes(n, static_cast<int32_t *>(out[0]), static_cast<const int32_t *>(lhs[0]),
                 static_cast<const int32_t *>(rhs[0]));
  };
  if (signature.name == "tl.reduce")
    reduceBlocks(numbers, axis, &results, &operands, lanes);
  else
    scanBlocks(numbers, axis, signature.attributes.getBool("reverse"), &results, &operands, lanes);
  return made;
}

Tuples::Lanes Tuples::gather(int64_t n, const int32_t *tuples, size_t k, Buffer &to,
                             ShadowValues &shadows) const {
  const Type type = input_.values.signature->operands[k].scalar();
  const auto bytes = static_cast<size_t>(type.elementBytes());
  to.resize(static_cast<size_t>(n)); // of no more than 8 bytes each
  Shadow shadow = Shadow::of(0, n);
  shadow.bits.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const Part &part = parts_[static_cast<size_t>(tuples[i]) * count_ + k];
    std::memcpy(reinterpret_cast<std::byte *>(to.data()) + static_cast<size_t>(i) * bytes,
                &part.value, bytes);
    shadow.origin(i) = part.undefined ? kSome : kDefined;
    shadow.undefinedBits(i) = part.undefined;
  }
  shadows.set(to.data(), std::move(shadow));
  return {to.data(), type, false};
}

Tuples::Lanes Tuples::run(size_t number, int64_t n, llvm::ArrayRef<Lanes> numbered, Buffer &to,
                          ShadowValues &shadows) {
  const CombineOp &op = region_.ops[number];
  if (op.operands.empty())
    return {&op.bits, op.signature.results[0], true};
  const Evaluator &evaluator = evaluators_[number];
  if (!evaluator.elementwise)
    return numbered[static_cast<size_t>(op.operands[0])];
  to.resize(static_cast<size_t>(n));
  const Lanes made{to.data(), op.signature.results[0], false};
  llvm::SmallVector<const void *, 3> data;
  llvm::SmallVector<ValueView, 3> views;
  uint32_t scalars = 0;
  for (const int32_t operand : op.operands) {
    const Lanes &lanes = numbered[static_cast<size_t>(operand)];
    scalars |= lanes.isOne && n != 1 ? 1U << data.size() : 0;
    data.push_back(lanes.data);
    views.push_back(lanes.view());
  }
  void *const result = to.data();
  evaluator.elementwise(n, 0, &result, data.data(), scalars, evaluator.payload.get());
  const ValueView view = made.view();
  OpValues values = input_.values;
  values.signature = &op.signature;
  values.begin = 0;
  values.count = n;
  values.operands = views;
  values.results = view;
  values.region = nullptr;
  followOp(values, shadows, origins_, moves_);
  return made;
}

void Tuples::combineLanes(int64_t n, int32_t *out, const int32_t *lhs, const int32_t *rhs) {
  ShadowValues shadows;
  std::vector<Buffer> buffers(2 * count_ + region_.ops.size());
  llvm::SmallVector<Lanes, 8> numbered;
  for (const int32_t *side : {lhs, rhs})
    for (size_t k = 0; k < count_; ++k)
      numbered.push_back(gather(n, side, k, buffers[numbered.size()], shadows));
  for (size_t op = 0; op < region_.ops.size(); ++op)
    numbered.push_back(run(op, n, numbered, buffers[numbered.size()], shadows));
  auto next = static_cast<int32_t>(parts_.size() / count_);
  for (int64_t i = 0; i < n; ++i) {
    for (const int32_t result : region_.results) {
      const ValueView view = numbered[static_cast<size_t>(result)].view();
      const ShadowedView shadowed(view, shadows);
      parts_.push_back({shadowed.value(i), shadowed.undefinedBits(i)});
    }
    out[i] = next++;
  }
}

} // namespace

Shadows withoutDropped(const RuleInput &input, Shadows shadows) {
  const OpValues &values = input.values;
  if (!values.region || !values.signature->attributes.getString("combine").empty() ||
      values.region->results.size() != shadows.size())
    return shadows;
  Tuples tuples(input);
  if (!tuples.chooseOps())
    return shadows;
  const std::vector<int32_t> made = tuples.combine();
  for (size_t k = 0; k < shadows.size(); ++k) {
    shadows[k].bits.resize(made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      shadows[k].bits[i] = tuples.undefinedBits(made[i], k);
      if (shadows[k].bits[i] == 0)
        shadows[k].origins[i] = kDefined;
    }
  }
  return shadows;
}

} // namespace blockscope::sanitizer
