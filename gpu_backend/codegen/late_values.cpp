// A list schedule by demand: deeper operands first, sums as early as they free registers.
#include "gpu_backend/codegen/late_values.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace blockscope::gpu {
namespace {

/// Registers of 32 bits; predicates have registers of their own.
int64_t wordsOf(const llvm::Value *value) {
  const llvm::Type *type = value->getType();
  if (type->isVoidTy() || type->isIntegerTy(1) || type->isTokenTy())
    return 0;
  const llvm::DataLayout &layout =
      llvm::cast<llvm::Instruction>(value)->getModule()->getDataLayout();
  return static_cast<int64_t>(
      llvm::divideCeil(layout.getTypeSizeInBits(value->getType()).getKnownMinValue(), 32));
}

/// Whether an instruction may go to another place among those that act.
bool mayMove(const llvm::Instruction &instruction) {
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator() ||
      instruction.isEHPad() || instruction.mayHaveSideEffects() ||
      instruction.mayReadOrWriteMemory())
    return false;
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return !call || !call->isConvergent();
}

/// The most words that values of the block hold at a time, in an order of its instructions. Values
/// from before it, and what is used behind it, count as long as the block knows them.
int64_t mostWords(llvm::ArrayRef<llvm::Instruction *> order) {
  llvm::DenseMap<const llvm::Value *, size_t> last;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const llvm::Use &operand : order[i]->operands())
      if (llvm::isa<llvm::Instruction>(operand) &&
          llvm::cast<llvm::Instruction>(operand)->getParent() == order[i]->getParent())
        last[operand] = i;
    for (const llvm::User *user : order[i]->users())
      if (llvm::cast<llvm::Instruction>(user)->getParent() != order[i]->getParent())
        last[order[i]] = order.size();
  }
  llvm::SmallVector<int64_t> change(order.size() + 2, 0);
  for (size_t i = 0; i < order.size(); ++i)
    if (const auto end = last.find(order[i]); end != last.end() && end->second > i) {
      change[i] += wordsOf(order[i]);
      change[end->second] -= wordsOf(order[i]);
    }
  int64_t now = 0, most = 0;
  for (const int64_t step : change)
    most = std::max(most, now += step);
  return most;
}

class Schedule {
public:
  explicit Schedule(llvm::BasicBlock &block) : block_(block) {
    for (llvm::Instruction &instruction : block) {
      int64_t depth = 0;
      for (const llvm::Use &operand : instruction.operands())
        if (const llvm::Instruction *made = here(operand)) {
          ++usesLeft_[made];
          if (!llvm::isa<llvm::PHINode>(instruction) && mayMove(*made))
            depth = std::max(depth, depths_.lookup(made));
        }
      depths_[&instruction] = depth + 1;
      for (const llvm::User *user : instruction.users())
        if (llvm::cast<llvm::Instruction>(user)->getParent() != &block ||
            llvm::isa<llvm::PHINode>(user))
          usesLeft_[&instruction] += kBehind;
    }
  }

  /// All instructions of the block but its terminator, in the new order.
  llvm::ArrayRef<llvm::Instruction *> run() {
    llvm::Instruction *terminator = block_.getTerminator();
    for (llvm::Instruction &instruction : block_)
      if (!mayMove(instruction) && &instruction != terminator)
        emit(&instruction);
    for (llvm::Instruction &instruction : block_)
      if (&instruction != terminator)
        emit(&instruction);
    order_.push_back(terminator);
    return order_;
  }

private:
  static constexpr int64_t kBehind = 1 << 20; // uses that the block does not end
  static constexpr size_t kMostNodes = 16;
  static constexpr int kMostLevels = 8;

  const llvm::Instruction *here(const llvm::Value *value) const {
    const auto *made = llvm::dyn_cast<llvm::Instruction>(value);
    return made && made->getParent() == &block_ ? made : nullptr;
  }
  llvm::Instruction *here(llvm::Value *value) const {
    auto *made = llvm::dyn_cast<llvm::Instruction>(value);
    return made && made->getParent() == &block_ ? made : nullptr;
  }

  /// Appends an instruction, behind what it needs. Blocks are long: there is no recursion.
  void emit(llvm::Instruction *wanted) {
    llvm::SmallVector<llvm::Instruction *> open{wanted};
    while (!open.empty()) {
      llvm::Instruction *top = open.back();
      if (emitted_.contains(top)) {
        open.pop_back();
        continue;
      }
      llvm::Instruction *next = nullptr; // the deepest operand that is missing
      if (!llvm::isa<llvm::PHINode>(top))
        for (llvm::Use &operand : top->operands())
          if (llvm::Instruction *made = here(operand.get());
              made && !emitted_.contains(made) &&
              (!next || depths_.lookup(made) > depths_.lookup(next)))
            next = made;
      if (next) {
        open.push_back(next);
        continue;
      }
      open.pop_back();
      append(top);
      useUp(top);
    }
  }

  void append(llvm::Instruction *instruction) {
    order_.push_back(instruction);
    emitted_.insert(instruction);
    for (const llvm::Use &operand : instruction->operands())
      if (const llvm::Instruction *made = here(operand.get()))
        --usesLeft_[made];
  }

  /// Computes what uses `made`, or is computed of that, where it frees at least as many registers
  /// as it takes.
  void useUp(llvm::Instruction *made) {
    llvm::SmallVector<llvm::Instruction *> open{made};
    while (!open.empty()) {
      llvm::Instruction *value = open.pop_back_val();
      llvm::SmallVector<llvm::User *> users(value->users());
      for (llvm::User *user : users) {
        llvm::Instruction *root = here(user);
        for (int level = 0; root && level < kMostLevels; ++level) {
          if (emitted_.contains(root) || !mayMove(*root))
            break;
          if (const auto tree = freeingTree(root)) {
            for (llvm::Instruction *node : *tree)
              append(node);
            open.push_back(root);
            break;
          }
          root = root->hasOneUse() ? here(*root->user_begin()) : nullptr;
        }
      }
    }
  }

  /// What is missing to compute `root`, in order, if all of it can be and it frees registers.
  std::optional<llvm::SmallVector<llvm::Instruction *>> freeingTree(llvm::Instruction *root) const {
    llvm::SmallVector<llvm::Instruction *> nodes, open{root};
    llvm::SmallPtrSet<const llvm::Instruction *, 16> seen{root};
    llvm::SmallDenseMap<const llvm::Instruction *, int64_t> uses;
    while (!open.empty()) {
      llvm::Instruction *node = open.pop_back_val();
      nodes.push_back(node);
      if (nodes.size() > kMostNodes)
        return std::nullopt;
      for (llvm::Use &operand : node->operands()) {
        llvm::Instruction *made = here(operand.get());
        if (!made)
          continue;
        if (emitted_.contains(made)) {
          ++uses[made];
        } else if (!mayMove(*made) || !made->hasOneUse()) {
          return std::nullopt; // it comes later, or would stay
        } else if (seen.insert(made).second) {
          open.push_back(made);
        }
      }
    }
    int64_t freed = 0;
    for (const auto &[made, count] : uses)
      if (usesLeft_.lookup(made) == count)
        freed += wordsOf(made);
    if (freed < wordsOf(root) || freed == 0)
      return std::nullopt;
    std::reverse(nodes.begin(), nodes.end()); // what is used before what uses it
    return nodes;
  }

  llvm::BasicBlock &block_;
  llvm::DenseMap<const llvm::Value *, int64_t> usesLeft_, depths_;
  llvm::SmallPtrSet<const llvm::Instruction *, 32> emitted_;
  llvm::SmallVector<llvm::Instruction *> order_;
};

/// Dots by wgmma have their registers given out by ptxas for all of a loop; another order costs
/// more there than it frees.
bool hasWgmma(const llvm::Function &function) {
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block)
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const auto *text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
            text && text->getAsmString().find("wgmma") != std::string::npos)
          return true;
  return false;
}

} // namespace

void makeValuesLate(llvm::Function &function) {
  constexpr int64_t kManyWords = 200;
  if (hasWgmma(function))
    return;
  for (llvm::BasicBlock &block : function) {
    llvm::SmallVector<llvm::Instruction *> before;
    for (llvm::Instruction &instruction : block)
      before.push_back(&instruction);
    const int64_t held = mostWords(before);
    if (held < kManyWords)
      continue;
    Schedule schedule(block);
    const llvm::ArrayRef<llvm::Instruction *> order = schedule.run();
    const int64_t then = mostWords(order);
    if (then >= held)
      continue;
    for (llvm::Instruction *instruction : order)
      if (!llvm::isa<llvm::PHINode>(instruction))
        instruction->moveBefore(block, block.end());
  }
}

} // namespace blockscope::gpu
