// A list schedule by demand: deeper operands first, sums as early as they free registers.
#include "gpu_backend/codegen/late_values.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace blockscope::gpu {
namespace {

/// Registers of 32 bits; predicates have registers of their own, and what an instruction with
/// several results gives is in those of its parts.
int64_t wordsOf(const llvm::Value *value) {
  const llvm::Type *type = value->getType();
  if (type->isVoidTy() || type->isIntegerTy(1) || type->isTokenTy() || type->isStructTy())
    return 0;
  const llvm::DataLayout &layout =
      llvm::cast<llvm::Instruction>(value)->getModule()->getDataLayout();
  return static_cast<int64_t>(
      llvm::divideCeil(layout.getTypeSizeInBits(value->getType()).getKnownMinValue(), 32));
}

/// Whether an instruction only names a part of what its first operand has in several registers.
bool isPart(const llvm::Instruction &instruction) {
  if (llvm::isa<llvm::ExtractValueInst>(instruction))
    return true;
  const bool takesPart = llvm::isa<llvm::BitCastInst>(instruction) ||
                         (llvm::isa<llvm::ExtractElementInst>(instruction) &&
                          llvm::isa<llvm::ConstantInt>(instruction.getOperand(1))) ||
                         (llvm::isa<llvm::ShuffleVectorInst>(instruction) &&
                          llvm::isa<llvm::Constant>(instruction.getOperand(1)));
  return takesPart && llvm::isa<llvm::Instruction>(instruction.getOperand(0)) &&
         wordsOf(instruction.getOperand(0)) > 1 &&
         instruction.getType()->getScalarSizeInBits() >= 32; // less is cut out of a register
}

/// Whether a value is a mask that only chooses between values. What is part of a mask of a load is
/// left as it is: with what is loaded used early, ptxas begins fewer loads at a time.
bool choosesOnly(const llvm::Instruction &value) {
  return value.getType()->isIntegerTy(1) && llvm::all_of(value.users(), [](const auto *user) {
           return llvm::isa<llvm::SelectInst>(user) && !user->getType()->isIntegerTy(1);
         });
}

/// Whether other blocks use a value, or the next iteration of its own.
bool isUsedBehind(const llvm::Instruction &made) {
  return llvm::any_of(made.users(), [&](const llvm::User *user) {
    return llvm::cast<llvm::Instruction>(user)->getParent() != made.getParent() ||
           llvm::isa<llvm::PHINode>(user);
  });
}

} // namespace

bool mayMove(const llvm::Instruction &instruction) {
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator() ||
      instruction.isEHPad() || instruction.mayHaveSideEffects() ||
      instruction.mayReadOrWriteMemory())
    return false;
  const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return !call || !call->isConvergent();
}

Held mostHeld(llvm::ArrayRef<llvm::Instruction *> order) {
  llvm::DenseMap<const llvm::Value *, size_t> last;
  for (size_t i = 0; i < order.size(); ++i)
    if (!llvm::isa<llvm::PHINode>(order[i]))
      for (const llvm::Use &operand : order[i]->operands())
        if (llvm::isa<llvm::Instruction>(operand) &&
            llvm::cast<llvm::Instruction>(operand)->getParent() == order[i]->getParent())
          last[operand] = i;
  for (const llvm::Instruction *made : order)
    if (isUsedBehind(*made))
      last[made] = order.size();
  llvm::SmallVector<Held> changes(order.size() + 2);
  for (size_t i = 0; i < order.size(); ++i)
    if (const auto end = last.find(order[i]); end != last.end() && end->second > i) {
      const int64_t words = wordsOf(order[i]), masks = choosesOnly(*order[i]) ? 1 : 0;
      changes[i].words += words;
      changes[i].masks += masks;
      changes[end->second].words -= words;
      changes[end->second].masks -= masks;
    }
  Held now, most;
  for (const Held &change : changes) {
    most.words = std::max(most.words, now.words += change.words);
    most.masks = std::max(most.masks, now.masks += change.masks);
  }
  return most;
}

namespace {

/// What is made before an access, barrier and the like needs it.
enum class Early : uint8_t {
  UsesOfNew, ///< what uses up a value that has just been made
  AllUses,   ///< also what uses up others at its place in the old order, and sums of many values
  LastUses,  ///< also what uses up the other operands of what has just been made
  WhatCanBe, ///< all that can be computed of what is loaded
};

class Schedule {
public:
  Schedule(llvm::BasicBlock &block, Early early) : block_(block), early_(early) {
    for (llvm::Instruction &instruction : block) {
      places_[&instruction] = places_.size();
      int64_t depth = 0;
      for (const llvm::Use &operand : instruction.operands())
        if (const llvm::Instruction *made = here(operand)) {
          ++usesLeft_[made];
          if (!llvm::isa<llvm::PHINode>(instruction) && mayMove(*made))
            depth = std::max(depth, depths_.lookup(made));
        }
      depths_[&instruction] = depth + 1;
      if (isUsedBehind(instruction))
        usesLeft_[&instruction] += kBehind;
    }
  }

  /// All instructions of the block but its terminator, in the new order.
  llvm::ArrayRef<llvm::Instruction *> run() {
    llvm::Instruction *terminator = block_.getTerminator();
    for (llvm::Instruction &instruction : block_) {
      if (&instruction == terminator || emitted_.contains(&instruction))
        continue;
      if (!mayMove(instruction))
        emit(&instruction);
      else if (early_ == Early::AllUses || early_ == Early::LastUses)
        if (const auto tree = freeingTree(&instruction, kMostOfSum, kLeastOfSum))
          emitTree(*tree);
    }
    for (llvm::Instruction &instruction : block_)
      if (&instruction != terminator)
        emit(&instruction);
    order_.push_back(terminator);
    return order_;
  }

private:
  static constexpr int64_t kBehind = 1 << 20; // uses that the block does not end
  static constexpr size_t kMostNodes = 32;
  static constexpr int kMostLevels = 8;
  static constexpr size_t kMostOfSum = 256;
  static constexpr int64_t kLeastOfSum = 16;

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
    if (!emitted_.insert(instruction).second)
      return; // as a part of another one
    order_.push_back(instruction);
    for (const llvm::Use &operand : instruction->operands())
      if (const llvm::Instruction *made = here(operand.get()))
        --usesLeft_[made];
    for (llvm::User *user : instruction->users())
      if (llvm::Instruction *part = here(user);
          part && isPart(*part) && !emitted_.contains(part) && part->getOperand(0) == instruction)
        append(part);
  }

  /// Computes what uses `made`, or is computed of that, where it frees at least as many registers
  /// as it takes.
  void useUp(llvm::Instruction *made) {
    if (early_ == Early::WhatCanBe) {
      if (!mayMove(*made)) // addresses wait for their loads
        computeUsers(made);
      return;
    }
    llvm::SmallVector<llvm::Instruction *> open{made};
    addLastOperands(*made, open);
    while (!open.empty()) {
      llvm::Instruction *value = open.pop_back_val();
      llvm::SmallVector<llvm::User *> users(value->users());
      for (llvm::User *user : users) {
        llvm::Instruction *root = here(user);
        if (root && isPart(*root) && emitted_.contains(root)) {
          open.push_back(root);
          continue;
        }
        for (int level = 0; root && level < kMostLevels; ++level) {
          if (emitted_.contains(root) || !mayMove(*root))
            break;
          if (const auto tree = freeingTree(root, kMostNodes)) {
            for (llvm::Instruction *node : *tree)
              append(node);
            for (llvm::Instruction *node : *tree)
              addLastOperands(*node, open);
            open.push_back(root);
            break;
          }
          root = firstUser(root);
        }
      }
    }
  }

  /// Adds the operands of `user` that few others wait for: what goes into two sums is free once it
  /// is in both.
  void addLastOperands(const llvm::Instruction &user,
                       llvm::SmallVectorImpl<llvm::Instruction *> &open) {
    if (early_ != Early::LastUses)
      return;
    constexpr unsigned kManyUses = 8;
    constexpr int64_t kFewLeft = 2;
    for (const llvm::Use &operand : user.operands())
      if (llvm::Instruction *made = here(operand.get()); made && emitted_.contains(made))
        if (const int64_t left = usesLeft_.lookup(made);
            left > 0 && left <= kFewLeft && !made->hasNUsesOrMore(kManyUses))
          open.push_back(made);
  }

  /// Computes what uses `made`, or is computed of that, where all else that it needs is there.
  void computeUsers(llvm::Instruction *made) {
    llvm::SmallVector<llvm::Instruction *> open{made};
    while (!open.empty()) {
      llvm::SmallVector<llvm::User *> users(open.pop_back_val()->users());
      for (llvm::User *user : users) {
        llvm::Instruction *next = here(user);
        if (!next || !mayMove(*next))
          continue;
        if (!emitted_.contains(next)) {
          if (!hasAllOperands(*next))
            continue;
          append(next);
        } else if (!isPart(*next)) { // parts are there with what they are of
          continue;
        }
        open.push_back(next);
      }
    }
  }

  bool hasAllOperands(const llvm::Instruction &instruction) const {
    return llvm::all_of(instruction.operands(), [&](const llvm::Use &operand) {
      const llvm::Instruction *of = here(operand.get());
      return !of || emitted_.contains(of);
    });
  }

  void emitTree(llvm::ArrayRef<llvm::Instruction *> tree) {
    for (llvm::Instruction *node : tree)
      append(node);
    useUp(tree.back());
  }

  /// The first one in the block of what uses `value`; null where nothing here does.
  llvm::Instruction *firstUser(llvm::Instruction *value) {
    llvm::Instruction *first = nullptr;
    for (llvm::User *user : value->users())
      if (llvm::Instruction *other = here(user);
          other && !llvm::isa<llvm::PHINode>(other) &&
          (!first || places_.lookup(other) < places_.lookup(first)))
        first = other;
    return first;
  }

  /// What is missing to compute `root`, in order, if all of it can be, with at most `most`
  /// instructions, and it frees as many registers as it takes. Of `leastOfSum` values and more it
  /// may take one in so many: what they are compared with, or divided by, frees them later.
  std::optional<llvm::SmallVector<llvm::Instruction *>>
  freeingTree(llvm::Instruction *root, size_t most,
              int64_t leastOfSum = std::numeric_limits<int64_t>::max()) const {
    llvm::SmallVector<llvm::Instruction *> nodes, open{root};
    llvm::SmallPtrSet<const llvm::Instruction *, 16> seen{root};
    llvm::SmallDenseMap<const llvm::Instruction *, int64_t> uses;
    while (!open.empty()) {
      llvm::Instruction *node = open.pop_back_val();
      nodes.push_back(node);
      if (nodes.size() > most)
        return std::nullopt;
      for (llvm::Use &operand : node->operands()) {
        llvm::Instruction *made = here(operand.get());
        if (!made)
          continue;
        ++uses[made];
        if (emitted_.contains(made) || !seen.insert(made).second)
          continue;
        if (!mayMove(*made))
          return std::nullopt; // it comes later
        open.push_back(made);
      }
    }
    int64_t freed = 0, taken = wordsOf(root), used = 0;
    bool keepsState = false;
    for (const auto &[made, count] : uses) {
      const bool isUsedUp = usesLeft_.lookup(made) == count;
      if (emitted_.contains(made)) {
        used += wordsOf(made);
        freed += isUsedUp ? wordsOf(made) : 0;
        keepsState |= !isUsedUp && llvm::isa<llvm::PHINode>(made);
      } else {
        taken += isUsedUp ? 0 : wordsOf(made);
      }
    }
    // A state that is stored before its next one replaces it: while the old one is still needed,
    // the next one is a value more for the rest of the block, whatever else it replaces.
    taken += keepsState && isUsedBehind(*root) ? 1 : 0;
    const bool frees = freed >= taken && freed != 0;
    if (!frees && (taken == 0 || taken - freed > used / leastOfSum))
      return std::nullopt;
    llvm::sort(nodes, [&](const llvm::Instruction *a, const llvm::Instruction *b) {
      return places_.lookup(a) < places_.lookup(b); // what is used before what uses it
    });
    return nodes;
  }

  llvm::BasicBlock &block_;
  Early early_;
  llvm::DenseMap<const llvm::Value *, int64_t> usesLeft_, depths_;
  llvm::DenseMap<const llvm::Instruction *, size_t> places_;
  llvm::SmallPtrSet<const llvm::Instruction *, 32> emitted_;
  llvm::SmallVector<llvm::Instruction *> order_;
};

/// PTX's name of what adds or shifts a constant; empty for any other instruction.
std::string nameOfCheap(const llvm::Instruction &instruction) {
  using I = llvm::Instruction;
  if (!(instruction.getType()->isIntegerTy(32) || instruction.getType()->isIntegerTy(64)) ||
      instruction.getNumOperands() != 2 || !llvm::isa<llvm::ConstantInt>(instruction.getOperand(1)))
    return {};
  const auto typed = [&](llvm::StringRef name) {
    return (name + llvm::Twine(instruction.getType()->getIntegerBitWidth())).str();
  };
  switch (instruction.getOpcode()) {
  case I::Add:
    return typed("add.s");
  case I::Sub:
    return typed("sub.s");
  case I::And:
    return typed("and.b");
  case I::Or:
    return typed("or.b");
  case I::Xor:
    return typed("xor.b");
  case I::Shl:
    return typed("shl.b");
  case I::LShr:
    return typed("shr.u");
  case I::AShr:
    return typed("shr.s");
  default:
    return {};
  }
}

/// Whether an instruction is an index of a value that many are made of, which stays anyway.
bool isCheap(const llvm::Instruction &instruction) {
  constexpr unsigned kManyUses = 8;
  return !nameOfCheap(instruction).empty() && instruction.getOperand(0)->hasNUsesOrMore(kManyUses);
}

/// The same once more, as text: LLVM would find two instructions to be one.
llvm::Instruction *copyOf(llvm::Instruction &cheap) {
  llvm::IRBuilder<> builder(cheap.getNextNode());
  llvm::Type *type = cheap.getType();
  const auto *constant = llvm::cast<llvm::ConstantInt>(cheap.getOperand(1));
  const std::string text =
      nameOfCheap(cheap) + " $0, $1, " + std::to_string(constant->getSExtValue()) + ";";
  auto *signature = llvm::FunctionType::get(type, {type}, /*isVarArg=*/false);
  auto *assembly = llvm::InlineAsm::get(signature, text, type->isIntegerTy(32) ? "=r,r" : "=l,l",
                                        /*hasSideEffects=*/false);
  llvm::CallInst *call = builder.CreateCall(signature, assembly, {cheap.getOperand(0)});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

/// An index for each of its uses, in place of one that is held from the first to the last.
class Copies {
public:
  explicit Copies(llvm::BasicBlock &block) {
    llvm::SmallVector<llvm::Instruction *> cheap;
    for (llvm::Instruction &instruction : block)
      if (isCheap(instruction) && instruction.hasNUsesOrMore(2))
        cheap.push_back(&instruction);
    for (llvm::Instruction *original : cheap)
      for (llvm::Use &use : llvm::make_early_inc_range(llvm::drop_begin(original->uses()))) {
        const auto *user = llvm::cast<llvm::Instruction>(use.getUser());
        if (user->getParent() != &block || llvm::isa<llvm::PHINode>(user))
          continue;
        llvm::Instruction *copy = copyOf(*original);
        use.set(copy);
        made_.emplace_back(copy, original);
      }
  }

  bool any() const { return !made_.empty(); }

  void undo() {
    for (const auto &[copy, original] : made_) {
      copy->replaceAllUsesWith(original);
      copy->eraseFromParent();
    }
    made_.clear();
  }

private:
  llvm::SmallVector<std::pair<llvm::Instruction *, llvm::Instruction *>> made_;
};

/// Instructions of a block. Beyond, looking for all uses, and ordering again, takes seconds.
constexpr size_t kLargest = 16384;

/// Values of a block that are more than there are registers, and orders that hold fewer.
constexpr int64_t kManyWords = 200;
constexpr int64_t kManyMasks = 16;
/// So many words that most of them are on the stack. Then what is loaded goes into sums as it comes
/// if that halves them, though sums begin before what they are made of is used up.
constexpr int64_t kFarTooManyWords = 512;

bool isMuch(const Held &held) { return held.words >= kManyWords || held.masks >= kManyMasks; }

/// Whether an order is better than another: in words where these are many, else by half of the
/// masks.
bool isLess(const Held &a, const Held &b) {
  if (a.words >= kManyWords || b.words >= kManyWords)
    return a.words < b.words;
  return 2 * a.masks <= b.masks;
}

/// The better one of an order and those that a schedule makes.
struct BestOrder {
  Held held;
  llvm::SmallVector<llvm::Instruction *> order; ///< empty: as it was

  void improve(llvm::BasicBlock &block) {
    for (const Early early :
         {Early::UsesOfNew, Early::AllUses, Early::WhatCanBe, Early::LastUses}) {
      const bool isLong = early == Early::AllUses || early == Early::LastUses;
      if (isLong && block.size() > kLargest)
        continue;
      if (early == Early::WhatCanBe && held.words < kFarTooManyWords)
        continue;
      if (early == Early::LastUses && held.words < kManyWords)
        continue;
      Schedule schedule(block, early);
      const llvm::ArrayRef<llvm::Instruction *> made = schedule.run();
      const Held then = mostHeld(made);
      // These begin what the others leave for later: not worth it for little.
      const bool isBetter = early == Early::WhatCanBe  ? 2 * then.words <= held.words
                            : early == Early::LastUses ? 5 * then.words <= 4 * held.words
                                                       : isLess(then, held);
      if (isBetter) {
        held = then;
        order.assign(made.begin(), made.end());
      }
    }
  }
};

/// Whether a block multiplies by wgmma. Waits do not count: they stand before what is computed of
/// the sums, behind a loop.
bool hasWgmma(const llvm::BasicBlock &block) {
  return llvm::any_of(block, [](const llvm::Instruction &instruction) {
    const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
    return text && text->getAsmString().find("wgmma.mma_async") != std::string::npos;
  });
}

/// The blocks whose order is left as it is. Dots by wgmma have their registers given out by ptxas
/// for all of a loop; another order costs more there than it frees. What is computed of the sums
/// behind it, or in a loop around it, is like any other code.
llvm::SmallPtrSet<const llvm::BasicBlock *, 8> blocksOfWgmma(llvm::Function &function) {
  llvm::SmallPtrSet<const llvm::BasicBlock *, 8> found;
  llvm::SmallPtrSet<const llvm::Loop *, 8> loopsOfWgmma;
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (const llvm::BasicBlock &block : function)
    if (hasWgmma(block)) {
      found.insert(&block);
      if (const llvm::Loop *loop = loops.getLoopFor(&block))
        loopsOfWgmma.insert(loop);
    }
  for (const llvm::BasicBlock &block : function)
    if (loopsOfWgmma.contains(loops.getLoopFor(&block)))
      found.insert(&block);
  return found;
}

/// What a loop's variables are next, one step further, is made last: made before the last use of
/// what they are now, it takes registers of its own, from which ptxas then moves every pointer to a
/// pair that its copy reads, one after the other.
void stepLast(llvm::BasicBlock &block) {
  llvm::SmallVector<llvm::Instruction *> steps;
  for (llvm::BasicBlock *next : llvm::successors(&block))
    for (llvm::PHINode &variable : next->phis()) {
      auto *step = llvm::dyn_cast<llvm::Instruction>(variable.getIncomingValueForBlock(&block));
      if (step && step->getParent() == &block && step->hasOneUse() &&
          llvm::isa<llvm::BinaryOperator, llvm::GetElementPtrInst>(step) &&
          step->getOperand(0) == &variable)
        steps.push_back(step);
    }
  for (llvm::Instruction *step : steps)
    step->moveBefore(block.getTerminator()->getIterator());
}

} // namespace

void makeValuesLate(llvm::Function &function) {
  const llvm::SmallPtrSet<const llvm::BasicBlock *, 8> left = blocksOfWgmma(function);
  for (llvm::BasicBlock &block : function) {
    if (left.contains(&block)) {
      stepLast(block);
      continue;
    }
    llvm::SmallVector<llvm::Instruction *> before;
    for (llvm::Instruction &instruction : block)
      before.push_back(&instruction);
    const Held held = mostHeld(before);
    if (!isMuch(held))
      continue;
    BestOrder best{held, {}};
    best.improve(block);
    if (best.held.words >= kManyWords && block.size() <= kLargest) {
      Copies copies(block);
      BestOrder ofCopies{best.held, {}};
      if (copies.any())
        ofCopies.improve(block);
      if (ofCopies.order.empty())
        copies.undo();
      else
        best = std::move(ofCopies);
    }
    for (llvm::Instruction *instruction : best.order)
      if (!llvm::isa<llvm::PHINode>(instruction))
        instruction->moveBefore(block, block.end());
  }
}

} // namespace blockscope::gpu
