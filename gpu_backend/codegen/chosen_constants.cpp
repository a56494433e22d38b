#include "gpu_backend/codegen/chosen_constants.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/Local.h"

#include <memory>
#include <optional>

namespace blockscope::gpu {
namespace {

using Constants = llvm::SmallVector<llvm::Constant *, 8>;

/// Conditions that are asked one after the other, the first for the first constant; the last one of
/// the constants is for none.
struct Conditions {
  struct Each {
    llvm::WeakTrackingVH value; ///< may be a result that is chosen anew
    bool isInverted;
  };
  llvm::SmallVector<Each, 8> each;
};

/// A value that is one of some constants.
struct Chosen {
  const Conditions *by;
  Constants from;
};

llvm::Constant *numberIn(llvm::Value *value) {
  return llvm::isa_and_nonnull<llvm::ConstantInt, llvm::ConstantFP>(value)
             ? llvm::cast<llvm::Constant>(value)
             : nullptr;
}

class Choices {
public:
  explicit Choices(llvm::Function &function) : layout_(function.getDataLayout()) {
    const llvm::ReversePostOrderTraversal<llvm::Function *> order(&function);
    for (llvm::BasicBlock *block : order)
      for (llvm::Instruction &instruction : *block)
        if (auto chosen = chosenBy(instruction)) {
          known_.try_emplace(&instruction, std::move(*chosen));
          inOrder_.push_back(&instruction);
        }
  }

  void run() {
    llvm::SmallVector<llvm::WeakVH> results;
    for (llvm::Instruction *each : inOrder_)
      if (isComputed(each) && !llvm::all_of(each->users(), [&](llvm::User *user) {
            return isComputed(user) && find(user)->by == find(each)->by;
          }))
        results.emplace_back(each);
    for (const llvm::WeakVH &result : llvm::reverse(results)) // what comes of it goes first
      if (auto *instruction = llvm::cast_or_null<llvm::Instruction>(result))
        chooseAnew(instruction);
  }

private:
  static constexpr size_t kMostConstants = 16;

  const Chosen *find(llvm::Value *value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? nullptr : &found->second;
  }

  /// Whether a value is computed of one that is chosen, not chosen itself.
  bool isComputed(llvm::Value *value) const { return find(value) && !choices_.contains(value); }

  std::optional<Chosen> chosenBy(llvm::Instruction &instruction) {
    if (!instruction.getType()->isIntegerTy() && !instruction.getType()->isFloatingPointTy())
      return std::nullopt;
    if (std::optional<Chosen> computed = computedOf(instruction))
      return computed;
    if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction))
      return choiceOf(*select);
    return std::nullopt;
  }

  /// What one more condition chooses: of two constants, or a constant and what is chosen already.
  std::optional<Chosen> choiceOf(llvm::SelectInst &select) {
    llvm::Constant *yes = numberIn(select.getTrueValue()), *no = numberIn(select.getFalseValue());
    llvm::Constant *first = yes ? yes : no;
    const Chosen *rest = find(yes ? select.getFalseValue() : select.getTrueValue());
    if (!first || !(rest || (yes && no)) || (rest && rest->from.size() == kMostConstants))
      return std::nullopt;
    auto conditions = std::make_unique<Conditions>();
    conditions->each.push_back({select.getCondition(), /*isInverted=*/!yes});
    Chosen chosen{conditions.get(), {first}};
    if (rest) {
      conditions->each.append(rest->by->each);
      chosen.from.append(rest->from);
    } else {
      chosen.from.push_back(no);
    }
    conditions_.push_back(std::move(conditions));
    choices_.insert(&select);
    return chosen;
  }

  /// What an op makes of constants, and of values that the same conditions choose.
  std::optional<Chosen> computedOf(llvm::Instruction &instruction) const {
    const auto *binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (!llvm::isa<llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(instruction) &&
        !(binary && instruction.getType()->isIntegerTy()))
      return std::nullopt;
    const Chosen *of = nullptr;
    for (llvm::Value *operand : instruction.operands()) {
      const Chosen *each = find(operand);
      if (each ? of && of->by != each->by : !numberIn(operand))
        return std::nullopt;
      of = each ? each : of;
    }
    if (!of)
      return std::nullopt;
    Chosen results{of->by, {}};
    for (size_t i = 0; i < of->from.size(); ++i) {
      Constants operands;
      for (llvm::Value *operand : instruction.operands()) {
        const Chosen *each = find(operand);
        operands.push_back(each ? each->from[i] : numberIn(operand));
      }
      llvm::Constant *result =
          llvm::isa<llvm::CmpInst>(instruction)
              ? llvm::ConstantFoldCompareInstOperands(
                    llvm::cast<llvm::CmpInst>(instruction).getPredicate(), operands[0], operands[1],
                    layout_)
              : llvm::ConstantFoldInstOperands(&instruction, operands, layout_);
      if (!numberIn(result))
        return std::nullopt;
      results.from.push_back(result);
    }
    return results;
  }

  /// What goes with `result` where nothing uses it any more: what it is computed of, back to what
  /// conditions choose.
  size_t goesWith(llvm::Instruction *result) const {
    llvm::SmallSetVector<llvm::Value *, 32> going;
    going.insert(result);
    for (size_t i = 0; i < going.size(); ++i)
      for (llvm::Value *operand : llvm::cast<llvm::Instruction>(going[i])->operands())
        if (find(operand) &&
            llvm::all_of(operand->users(), [&](llvm::User *user) { return going.contains(user); }))
          going.insert(operand);
    return going.size();
  }

  void chooseAnew(llvm::Instruction *result) {
    const Chosen &chosen = *find(result);
    const auto &conditions = chosen.by->each;
    size_t selects = 0;
    llvm::Constant *last = chosen.from.back();
    bool isSame = true; // as the last one, from here on
    for (size_t i = conditions.size(); i-- > 0;) {
      isSame &= chosen.from[i] == last;
      selects += !isSame;
    }
    if (selects >= goesWith(result))
      return;
    llvm::IRBuilder<> builder(result);
    llvm::Value *made = last;
    for (size_t i = conditions.size(); i-- > 0;)
      if (const auto &[condition, isInverted] = conditions[i]; made != chosen.from[i])
        made = isInverted ? builder.CreateSelect(condition, made, chosen.from[i])
                          : builder.CreateSelect(condition, chosen.from[i], made);
    result->replaceAllUsesWith(made);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(
        result, nullptr, nullptr, [&](llvm::Value *gone) { known_.erase(gone); });
  }

  const llvm::DataLayout &layout_;
  llvm::DenseMap<llvm::Value *, Chosen> known_;
  llvm::DenseSet<llvm::Value *> choices_;
  llvm::SmallVector<llvm::Instruction *> inOrder_;
  llvm::SmallVector<std::unique_ptr<Conditions>> conditions_;
};

} // namespace

void chooseResults(llvm::Function &function) { Choices(function).run(); }

} // namespace blockscope::gpu
