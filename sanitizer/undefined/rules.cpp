// Rules of elementwise ops, and the table of rules by op.
#include "sanitizer/undefined/rules.h"

#include "core/op_facts.h"
#include "interpreter/evaluator.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <variant>

namespace blockscope::sanitizer {
namespace {

/// One element of an operand: its bits, which of them are undefined, how many there are.
struct Bits {
  uint64_t value, undefined;
  int width;

  uint64_t mask() const { return llvm::maskTrailingOnes<uint64_t>(width); }
  uint64_t zeros() const { return ~value & ~undefined & mask(); } ///< bits that are surely 0
  uint64_t ones() const { return value & ~undefined; }
  uint64_t least() const { return value & ~undefined; }
  uint64_t greatest() const { return (value | undefined) & mask(); }
  bool isZero() const { return greatest() == 0; }
  bool isDefined() const { return undefined == 0; }
  /// The same order for signed numbers as unsigned ones have: the sign turned over.
  Bits turned() const { return {value ^ (uint64_t{1} << (width - 1)), undefined, width}; }
};

/// The undefined bits of one element of the result.
using BitRule = uint64_t (*)(llvm::ArrayRef<Bits> operands, const OpValues &values);

uint64_t andBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return (x[0].undefined | x[1].undefined) & ~(x[0].zeros() | x[1].zeros());
}
uint64_t orBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return (x[0].undefined | x[1].undefined) & ~(x[0].ones() | x[1].ones());
}
uint64_t xorBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return x[0].undefined | x[1].undefined;
}
// Carries go as far as the sums of the least and of the greatest operands differ.
uint64_t addBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  const uint64_t low = x[0].least() + x[1].least(), high = x[0].greatest() + x[1].greatest();
  return ((low ^ high) | x[0].undefined | x[1].undefined) & x[0].mask();
}
uint64_t subBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  const uint64_t low = x[0].least() - x[1].greatest(), high = x[0].greatest() - x[1].least();
  return ((low ^ high) | x[0].undefined | x[1].undefined) & x[0].mask();
}
// An undefined bit changes the product from there on, further up by the zeros below the other
// factor.
uint64_t mulBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  if (x[0].isZero() || x[1].isZero())
    return 0;
  const auto lowest = [](const Bits &from, const Bits &by) {
    return from.isDefined() ? 64
                            : llvm::countr_zero(from.undefined) + llvm::countr_zero(by.greatest());
  };
  const int first = std::min(lowest(x[0], x[1]), lowest(x[1], x[0]));
  return first >= x[0].width ? 0 : x[0].mask() & (~uint64_t{0} << first);
}
/// Shifts by what is not defined are anything, but of a 0. By the width and more they give 0, or
/// the sign.
bool isPlainShift(llvm::ArrayRef<Bits> x) {
  return x[1].isDefined() && x[1].value < static_cast<uint64_t>(x[0].width);
}
uint64_t oddShift(const Bits &shifted, const Bits &by) {
  return shifted.isZero() || by.isDefined() ? 0 : shifted.mask();
}
uint64_t shlBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return isPlainShift(x) ? (x[0].undefined << x[1].value) & x[0].mask() : oddShift(x[0], x[1]);
}
uint64_t shruiBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return isPlainShift(x) ? x[0].undefined >> x[1].value : oddShift(x[0], x[1]);
}
uint64_t shrsiBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  if (!x[1].isDefined())
    return oddShift(x[0], x[1]);
  const int64_t extended = llvm::SignExtend64(x[0].undefined, static_cast<unsigned>(x[0].width));
  const uint64_t by = std::min<uint64_t>(x[1].value, static_cast<uint64_t>(x[0].width) - 1);
  return static_cast<uint64_t>(extended >> by) & x[0].mask();
}
uint64_t selectBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  if (x[0].isDefined())
    return x[x[0].value ? 1 : 2].undefined;
  return x[1].undefined | x[2].undefined | (x[1].value ^ x[2].value);
}
uint64_t extendUnsigned(llvm::ArrayRef<Bits> x, const OpValues &) { return x[0].undefined; }
uint64_t extendSigned(llvm::ArrayRef<Bits> x, const OpValues &) {
  return static_cast<uint64_t>(
      llvm::SignExtend64(x[0].undefined, static_cast<unsigned>(x[0].width)));
}
uint64_t sameBits(llvm::ArrayRef<Bits> x, const OpValues &) { return x[0].undefined; }

/// The counter of a loop comes from its begin and its step; the end says only how far it goes.
uint64_t counterBits(llvm::ArrayRef<Bits> x, const OpValues &) {
  return x[0].isDefined() && x[2].isDefined() ? 0 : x[0].mask();
}

/// A comparison is defined when one pair of bits decides it, or the ranges do not meet.
uint64_t compareBits(llvm::ArrayRef<Bits> x, const OpValues &values) {
  const llvm::StringRef predicate = predicateOf(values.signature->attributes);
  if (predicate == "eq" || predicate == "ne")
    return ((x[0].ones() & x[1].zeros()) | (x[0].zeros() & x[1].ones())) == 0;
  const bool isSigned = predicate.starts_with("s");
  const Bits a = isSigned ? x[0].turned() : x[0], b = isSigned ? x[1].turned() : x[1];
  const llvm::StringRef order = predicate.drop_front();
  const auto holds = [&](uint64_t left, uint64_t right) {
    return order == "lt"   ? left < right
           : order == "le" ? left <= right
           : order == "gt" ? left > right
                           : left >= right;
  };
  return holds(a.least(), b.greatest()) != holds(a.greatest(), b.least());
}

struct Rule {
  BitRule bits = nullptr;
  BlockRule block = nullptr;
};

/// The ops of which more is to be said than that they are elementwise, or move elements.
const llvm::StringMap<Rule> &rules() {
  static const llvm::StringMap<Rule> table = {
      {"arith.andi", {andBits}},
      {"arith.ori", {orBits}},
      {"arith.xori", {xorBits}},
      {"arith.addi", {addBits}},
      {"arith.subi", {subBits}},
      {"arith.muli", {mulBits}},
      {"arith.shli", {shlBits}},
      {"arith.shrui", {shruiBits}},
      {"arith.shrsi", {shrsiBits}},
      {"arith.select", {selectBits}},
      {"arith.cmpi", {compareBits}},
      {"arith.extui", {extendUnsigned}},
      {"arith.extsi", {extendSigned}},
      {"arith.trunci", {sameBits}},
      {"tl.bitcast", {sameBits}},
      {"tl.hint", {sameBits}},
      {"tl.ptr_to_int", {sameBits}},
      {"tl.int_to_ptr", {sameBits}},
      {"scf.for", {counterBits}},
      {"tl.gather", {nullptr, gatherElements}},
      {"tl.reduce", {nullptr, reduceAlongAxis}},
      {"tl.scan", {nullptr, scanAlongAxis}},
      {"tl.map", {nullptr, mapGroups}},
      {"tl.dot", {nullptr, dotRows}},
      {"tl.sort", {nullptr, sortRows}},
      {"tl.histogram", {nullptr, countAll}},
      {"tl.inline_asm", {nullptr, runAssembly}},
      {"tl.inline_asm_volatile", {nullptr, runAssembly}},
  };
  return table;
}

OriginId originOf(llvm::ArrayRef<ShadowedView> operands, int64_t i) {
  for (const ShadowedView &operand : operands)
    if (const OriginId origin = operand.origin(i))
      return origin;
  return kDefined;
}

Shadow followElements(const RuleInput &input, int64_t count, BitRule rule) {
  int64_t first = count, last = 0;
  for (const ShadowedView &operand : input.operands) {
    const auto [begin, end] = operand.range(count);
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  if (first >= last)
    return {};
  Shadow result = Shadow::of(first, last);
  if (rule)
    result.bits.resize(result.origins.size());
  const Type &type = *input.values.results.front().type;
  const uint64_t mask = llvm::maskTrailingOnes<uint64_t>(
      type.isBool() ? 1 : static_cast<unsigned>(type.elementBytes()) * 8);
  llvm::SmallVector<Bits, 4> bits;
  for (int64_t i = first; i < last; ++i) {
    const OriginId origin = originOf(input.operands, i);
    if (origin == kDefined)
      continue;
    if (rule) {
      bits.clear();
      for (const ShadowedView &operand : input.operands)
        bits.push_back({operand.value(i), operand.undefinedBits(i), operand.width()});
      result.undefinedBits(i) = rule(bits, input.values) & mask;
      if (result.undefinedBits(i) == 0)
        continue;
    }
    result.origin(i) = input.origins.after(*input.values.op, origin);
  }
  return result;
}

/// Where nothing is known of an op, each result is undefined in all elements.
Shadow everything(const RuleInput &input, int64_t count) {
  OriginId origin = kDefined;
  for (size_t k = 0; k < input.operands.size() && origin == kDefined; ++k)
    for (int64_t i = 0; i < input.values.operands[k].elements(count) && origin == kDefined; ++i)
      origin = input.operands[k].origin(i);
  const OriginId all = input.origins.mixed(*input.values.op, origin);
  return {0, std::vector<OriginId>(static_cast<size_t>(count), all)};
}

} // namespace

llvm::StringRef predicateOf(const Attributes &attributes) {
  static constexpr llvm::StringLiteral kWords[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                   "sge", "ult", "ule", "ugt", "uge"};
  const auto *number = std::get_if<int64_t>(attributes.find("predicate"));
  return number ? llvm::StringRef(kWords[*number]) : attributes.getString("predicate");
}

Shadows followBlocks(const RuleInput &input) {
  const llvm::StringRef name = input.values.signature->name;
  const auto found = rules().find(name);
  if (found != rules().end() && found->second.block)
    return found->second.block(input);
  const OpFacts *facts = findOpFacts(name);
  return facts && facts->family == OpFamily::Shape ? moveElements(input) : Shadows();
}

void followOp(const OpValues &values, ShadowValues &shadows, OriginRules &origins, Moves &moves) {
  if (shadows.empty() || values.results.empty())
    return;
  llvm::SmallVector<ShadowedView, 4> operands;
  bool isDefined = true;
  for (const ValueView &operand : values.operands) {
    operands.emplace_back(operand, shadows);
    isDefined &= operands.back().isDefined();
  }
  if (isDefined) {
    for (const ValueView &result : values.results)
      shadows.define(result.data);
    return;
  }
  const RuleInput input{values, operands, origins, moves};
  const llvm::StringRef name = values.signature->name;
  const auto found = rules().find(name);
  const Rule rule = found == rules().end() ? Rule() : found->second;
  const OpFacts *facts = findOpFacts(name);
  Shadows made;
  if (!rule.block && (rule.bits || !facts || facts->isElementwise))
    made = {followElements(input, values.results.front().elements(values.count), rule.bits)};
  else
    made = followBlocks(input);
  for (size_t i = 0; i < values.results.size(); ++i)
    shadows.set(values.results[i].data,
                i < made.size() ? std::move(made[i])
                                : everything(input, values.results[i].elements(values.count)));
}

} // namespace blockscope::sanitizer
