// The lowest bit chooses last: values that are halves of registers are chosen in pairs until then
// (codegen/whole_selects.h).
#include "gpu_backend/codegen/choice_trees.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Utils/Local.h"

#include <optional>

namespace blockscope::gpu {
namespace {

/// select(number == place, value, other)
struct Choice {
  llvm::Value *number;
  uint64_t place;
  llvm::Value *value, *other;
};

std::optional<Choice> choiceOf(llvm::Value *value) {
  auto *select = llvm::dyn_cast<llvm::SelectInst>(value);
  auto *compare = select ? llvm::dyn_cast<llvm::ICmpInst>(select->getCondition()) : nullptr;
  auto *place = compare ? llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1)) : nullptr;
  if (!place || !compare->isEquality() || place->getBitWidth() > 64)
    return std::nullopt;
  const bool isEqual = compare->getPredicate() == llvm::ICmpInst::ICMP_EQ;
  return Choice{compare->getOperand(0), place->getZExtValue(),
                isEqual ? select->getTrueValue() : select->getFalseValue(),
                isEqual ? select->getFalseValue() : select->getTrueValue()};
}

/// Whether a choice is the rest of another one by the same number, and of nothing else.
bool isRest(llvm::Value *value, const Choice &choice) {
  if (!value->hasOneUse())
    return false;
  const auto of = choiceOf(*value->user_begin());
  return of && of->number == choice.number && of->other == value;
}

class Tree {
public:
  Tree(llvm::Instruction *place, llvm::Value *number, unsigned width,
       llvm::ArrayRef<llvm::Value *> values)
      : builder_(place), values_(values) {
    for (unsigned bit = 0; bit < width; ++bit)
      bits_.push_back(builder_.CreateIsNotNull(
          builder_.CreateAnd(number, llvm::ConstantInt::get(number->getType(), 1ULL << bit))));
  }

  /// The value for the number, whose lowest `bit` bits are those of `low`.
  llvm::Value *chosen(uint64_t low = 0, unsigned bit = 0) {
    if (bit == bits_.size())
      return values_[low];
    llvm::Value *without = chosen(low, bit + 1), *with = chosen(low | (1ULL << bit), bit + 1);
    return with == without ? with : builder_.CreateSelect(bits_[bit], with, without);
  }

private:
  llvm::IRBuilder<> builder_;
  llvm::ArrayRef<llvm::Value *> values_;
  llvm::SmallVector<llvm::Value *> bits_;
};

/// The same as a chain of choices that ends in `last`; null where that would not be less.
llvm::Value *asTree(llvm::SelectInst *last) {
  constexpr size_t kLeast = 6; // choices
  constexpr unsigned kMostBits = 6;
  std::optional<Choice> choice = choiceOf(last);
  llvm::Value *number = choice->number, *rest = nullptr;
  llvm::SmallDenseMap<uint64_t, llvm::Value *> known;
  for (; choice && choice->number == number; choice = choiceOf(rest)) {
    if (choice->place < (1ULL << kMostBits)) // a map has no place for all numbers
      known.try_emplace(choice->place, choice->value);
    rest = choice->other;
    if (!rest->hasOneUse())
      break;
  }
  if (known.size() < kLeast)
    return nullptr;
  const llvm::KnownBits bits = llvm::computeKnownBits(number, last->getDataLayout());
  const unsigned width = bits.countMaxActiveBits();
  if (width > kMostBits || (1ULL << width) > 2 * known.size())
    return nullptr;
  llvm::SmallVector<llvm::Value *> values;
  for (uint64_t place = 0; place < (1ULL << width); ++place) {
    const auto found = known.find(place);
    values.push_back(found == known.end() ? rest : found->second);
  }
  return Tree(last, number, width, values).chosen();
}

} // namespace

void chooseByBits(llvm::Function &function) {
  llvm::SmallVector<llvm::WeakVH> ends; // one may be in another one's chain, and go with it
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (const auto choice = choiceOf(&instruction); choice && !isRest(&instruction, *choice))
      ends.emplace_back(&instruction);
  for (const llvm::WeakVH &each : ends) {
    auto *end = llvm::cast_or_null<llvm::SelectInst>(each);
    if (llvm::Value *chosen = end ? asTree(end) : nullptr) {
      end->replaceAllUsesWith(chosen);
      llvm::RecursivelyDeleteTriviallyDeadInstructions(end);
    }
  }
}

} // namespace blockscope::gpu
