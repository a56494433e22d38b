// Metadata stays with an instruction for as long as that is there.
#include "gpu_backend/codegen/kept_order.h"

#include "gpu_backend/codegen/late_values.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"

#include <optional>

namespace blockscope::gpu {
namespace {

constexpr llvm::StringLiteral kPlace = "blockscope.place";

std::optional<uint64_t> placeOf(const llvm::Instruction &instruction) {
  const llvm::MDNode *node = instruction.getMetadata(kPlace);
  if (!node)
    return std::nullopt;
  return llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0))->getZExtValue();
}

/// A block's instructions as they were noted. What has no note comes right before its first use.
class OldOrder {
public:
  explicit OldOrder(llvm::BasicBlock &block) : block_(block) {
    for (llvm::Instruction &instruction : block)
      if (const auto place = placeOf(instruction); place && mayMove(instruction))
        noted_.emplace_back(*place, &instruction);
    llvm::stable_sort(noted_, llvm::less_first());
  }

  llvm::ArrayRef<llvm::Instruction *> run() {
    for (llvm::PHINode &phi : block_.phis())
      emit(phi);
    for (llvm::Instruction &instruction : block_) {
      if (mayMove(instruction))
        continue;
      if (const auto place = placeOf(instruction))
        for (; next_ < noted_.size() && noted_[next_].first < *place; ++next_)
          if (llvm::Instruction *wanted = noted_[next_].second; isThere(*wanted))
            emit(*wanted);
          else
            waiting_.insert(wanted);
      if (&instruction == block_.getTerminator())
        for (llvm::Instruction &left : block_)
          if (&left != &instruction)
            emit(left);
      emit(instruction);
      waiting_.clear(); // that may have been what they waited for
    }
    return order_;
  }

private:
  llvm::Instruction *here(llvm::Value *value) const {
    auto *made = llvm::dyn_cast<llvm::Instruction>(value);
    return made && made->getParent() == &block_ ? made : nullptr;
  }

  /// Whether all that acts before `wanted`, and that it needs, has been emitted.
  bool isThere(llvm::Instruction &wanted) const {
    llvm::SmallVector<llvm::Instruction *> open{&wanted};
    llvm::SmallPtrSet<llvm::Instruction *, 16> seen{&wanted};
    while (!open.empty())
      for (llvm::Value *operand : open.pop_back_val()->operands())
        if (llvm::Instruction *made = here(operand);
            made && !emitted_.contains(made) && seen.insert(made).second) {
          if (!mayMove(*made) || waiting_.contains(made))
            return false;
          open.push_back(made);
        }
    return true;
  }

  /// Behind what it needs. Blocks are long: there is no recursion.
  void emit(llvm::Instruction &wanted) {
    llvm::SmallVector<llvm::Instruction *> open{&wanted};
    while (!open.empty()) {
      llvm::Instruction *top = open.back(), *missing = nullptr;
      if (!emitted_.contains(top) && !llvm::isa<llvm::PHINode>(top))
        for (llvm::Value *operand : top->operands())
          if (llvm::Instruction *made = here(operand); made && !emitted_.contains(made)) {
            missing = made;
            break;
          }
      if (missing) {
        open.push_back(missing);
        continue;
      }
      open.pop_back();
      if (emitted_.insert(top).second)
        order_.push_back(top);
    }
  }

  llvm::BasicBlock &block_;
  llvm::SmallVector<std::pair<uint64_t, llvm::Instruction *>> noted_; ///< that may move
  size_t next_ = 0;
  llvm::SmallPtrSet<llvm::Instruction *, 32> emitted_;
  llvm::SmallPtrSet<llvm::Instruction *, 32> waiting_; ///< for what acts, as far as is known
  llvm::SmallVector<llvm::Instruction *> order_;
};

} // namespace

void noteOrder(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  llvm::Type *type = llvm::Type::getInt64Ty(context);
  uint64_t place = 0;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    instruction.setMetadata(
        kPlace, llvm::MDNode::get(
                    context, llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(type, place++))));
}

void keepOrder(llvm::Function &function) {
  constexpr size_t kLargest = 16384;   // instructions of a block
  constexpr int64_t kFewestWords = 40; // where fewer are held, all warps run anyway
  constexpr double kClearly = 0.9;
  for (llvm::BasicBlock &block : function) {
    if (block.size() > kLargest)
      continue;
    llvm::SmallVector<llvm::Instruction *> now;
    for (llvm::Instruction &instruction : block)
      now.push_back(&instruction);
    const int64_t held = mostHeld(now).words;
    if (held < kFewestWords)
      continue;
    OldOrder order(block);
    const llvm::ArrayRef<llvm::Instruction *> then = order.run();
    if (static_cast<double>(mostHeld(then).words) > kClearly * static_cast<double>(held))
      continue;
    for (llvm::Instruction *instruction : then)
      instruction->moveBefore(block, block.end());
  }
  for (llvm::Instruction &instruction : llvm::instructions(function))
    instruction.setMetadata(kPlace, nullptr);
}

} // namespace blockscope::gpu
