// LLVM's vectorizer of straight lines makes these vectors, of choices between elements.
#include "gpu_backend/codegen/whole_selects.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace blockscope::gpu {
namespace {

constexpr unsigned kRegisterBits = 32;

/// The condition that decides for all elements; null where there are several.
llvm::Value *onlyCondition(llvm::SelectInst &select) {
  llvm::Value *condition = select.getCondition();
  return condition->getType()->isVectorTy() ? llvm::getSplatValue(condition) : condition;
}

/// The vector as registers; null where an element fills one, or the last one is not full.
llvm::Type *registersOf(llvm::Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector || vector->getElementType()->isPointerTy())
    return nullptr;
  const unsigned element = vector->getScalarSizeInBits();
  const unsigned bits = element * vector->getNumElements();
  if (element < 8 || element >= kRegisterBits || bits % kRegisterBits != 0)
    return nullptr;
  llvm::Type *word = llvm::Type::getInt32Ty(type->getContext());
  return bits == kRegisterBits ? word : llvm::FixedVectorType::get(word, bits / kRegisterBits);
}

} // namespace

void chooseWholeRegisters(llvm::Function &function) {
  llvm::SmallVector<llvm::SelectInst *> selects;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction))
      selects.push_back(select);
  for (llvm::SelectInst *select : selects) {
    llvm::Type *registers = registersOf(select->getType());
    llvm::Value *condition = registers ? onlyCondition(*select) : nullptr;
    if (!condition)
      continue;
    llvm::IRBuilder<> builder(select);
    llvm::Value *chosen =
        builder.CreateSelect(condition, builder.CreateBitCast(select->getTrueValue(), registers),
                             builder.CreateBitCast(select->getFalseValue(), registers));
    select->replaceAllUsesWith(builder.CreateBitCast(chosen, select->getType()));
    select->eraseFromParent();
  }
}

} // namespace blockscope::gpu
