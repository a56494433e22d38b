// The rule of inline assembly: a result is undefined where a register that its register is made of
// holds an undefined element. Which ones are, is read off the text, from its first instruction to
// its last; where the text branches or accesses memory, all elements of a run of `pack` go into all
// of its results.
#include "sanitizer/undefined/rules.h"

#include "core/ptx/constraints.h"
#include "core/ptx/program.h"
#include "interpreter/evaluator.h"

#include "llvm/ADT/BitVector.h"

namespace blockscope::sanitizer {
namespace {

/// By register: the operands of the assembly that it is made of, as bits.
class Flow {
public:
  Flow(const ptx::Program &program, const std::vector<ptx::Slot> &slots)
      : sources_(program.registers.size(), llvm::BitVector(static_cast<unsigned>(slots.size()))) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (!slots[i].isResult && !slots[i].isImmediate)
        sources_[slots[i].tiedTo >= 0 ? static_cast<size_t>(slots[i].tiedTo) : i].set(
            static_cast<unsigned>(i));
    for (const ptx::Instruction &instruction : program.instructions)
      follow(instruction);
  }

  const llvm::BitVector &sourcesOf(size_t reg) const { return sources_[reg]; }

private:
  void collect(const ptx::Operand &operand, llvm::BitVector &into) const {
    if (operand.reg >= 0)
      into |= sources_[static_cast<size_t>(operand.reg)];
    for (const ptx::Operand &part : operand.parts)
      collect(part, into);
  }

  void give(const ptx::Operand &operand, const llvm::BitVector &sources, bool isSure) {
    if (operand.reg >= 0) {
      llvm::BitVector &reg = sources_[static_cast<size_t>(operand.reg)];
      reg = isSure ? sources : reg |= sources;
    }
    for (const ptx::Operand &part : operand.parts)
      give(part, sources, isSure);
  }

  /// The first operand is what an instruction gives; under a predicate it may stay as it was.
  void follow(const ptx::Instruction &instruction) {
    if (instruction.operands.empty())
      return;
    llvm::BitVector sources(sources_.empty() ? 0 : sources_.front().size());
    for (const ptx::Operand &operand : llvm::ArrayRef(instruction.operands).drop_front())
      collect(operand, sources);
    const bool isSure = instruction.predicate < 0;
    if (!isSure)
      sources |= sources_[static_cast<size_t>(instruction.predicate)];
    give(instruction.operands.front(), sources, isSure);
  }

  std::vector<llvm::BitVector> sources_;
};

/// By result, and by each of the `pack` elements of a run: the elements of arguments that go into
/// it, numbered argument * pack + element. Empty where that is not known.
std::vector<std::vector<int32_t>> inputsOf(const OpSignature &signature, int64_t pack) {
  const std::string text = signature.attributes.getString("asm_string").str();
  const std::vector<Type> arguments(signature.operands.begin(), signature.operands.end());
  const std::vector<Type> results(signature.results.begin(), signature.results.end());
  const ptx::Constraints constraints =
      ptx::readConstraints(signature.attributes.getString("constraints"), arguments, results, pack);
  std::vector<std::string> types;
  for (const ptx::Slot &slot : constraints.slots)
    types.push_back(slot.type());
  const ptx::ProgramOrError parsed = ptx::parse(text, types);
  if (!constraints.error.empty() || !parsed.error.empty() || ptx::effectsOf(text).accesses)
    return {};
  for (const ptx::Instruction &instruction : parsed.program.instructions)
    if (instruction.target >= 0)
      return {};
  const Flow flow(parsed.program, constraints.slots);
  std::vector<std::vector<int32_t>> inputs(results.size() * static_cast<size_t>(pack));
  for (size_t i = 0; i < constraints.slots.size(); ++i) {
    const ptx::Slot &result = constraints.slots[i];
    if (!result.isResult)
      continue;
    for (int k = 0; k < result.elements; ++k) {
      auto &into = inputs[static_cast<size_t>(result.value * pack + result.element + k)];
      for (const unsigned from : flow.sourcesOf(i).set_bits()) {
        const ptx::Slot &argument = constraints.slots[from];
        for (int j = 0; j < argument.elements; ++j)
          into.push_back(static_cast<int32_t>(argument.value * pack + argument.element + j));
      }
    }
  }
  return inputs;
}

} // namespace

Shadows runAssembly(const RuleInput &input) {
  const OpSignature &signature = *input.values.signature;
  const OpInfo &op = *input.values.op;
  const int64_t pack = std::max<int64_t>(1, signature.attributes.getInt("pack", 1));
  const auto [known, isNew] = input.moves.try_emplace(&signature);
  if (isNew)
    known->second = inputsOf(signature, pack);
  const std::vector<std::vector<int32_t>> &inputs = known->second;
  if (inputs.empty())
    return mapGroups(input);
  const int64_t count = input.values.results.front().elements(input.values.count);
  Shadows made;
  for (size_t r = 0; r < signature.results.size(); ++r) {
    Shadow shadow = Shadow::of(0, count);
    for (int64_t i = 0; i < count; ++i) {
      // Only what comes from another element is mixed with this one.
      bool hasOwn = false, hasOther = false, isMixed = false;
      for (const int32_t number : inputs[r * static_cast<size_t>(pack) + i % pack]) {
        const int64_t element = i / pack * pack + number % pack;
        const ShadowedView &argument = input.operands[static_cast<size_t>(number / pack)];
        const OriginId origin = element < count ? argument.origin(element) : kDefined;
        (element == i ? hasOwn : hasOther) |= origin != kDefined;
        isMixed |= element != i;
        if (origin != kDefined && shadow.origin(i) == kDefined)
          shadow.origin(i) = origin;
      }
      if (hasOwn || hasOther)
        shadow.origin(i) = isMixed && hasOwn != hasOther
                               ? input.origins.mixed(op, shadow.origin(i))
                               : input.origins.after(op, shadow.origin(i));
    }
    made.push_back(std::move(shadow));
  }
  return made;
}

} // namespace blockscope::sanitizer
