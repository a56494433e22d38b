// Looks through the choices of each copy's number of bytes.
#include "gpu_backend/codegen/copy_masks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

namespace blockscope::gpu {
namespace {

using llvm::Value;

constexpr unsigned kSizeOperand = 2;

/// The assembly of a copy, as lowering writes it, whose number of bytes is chosen, or null.
const llvm::InlineAsm *maskedCopy(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  if (!text || !llvm::StringRef(text->getConstraintString()).starts_with("r,l,r"))
    return nullptr;
  llvm::StringRef line = text->getAsmString();
  line.consume_front("@$3 ");
  const bool isCopy = line.starts_with("cp.async.c") && line.ends_with(", $2;");
  return isCopy && llvm::isa<llvm::SelectInst>(call->getArgOperand(kSizeOperand)) ? text : nullptr;
}

/// The bytes that a copy writes.
uint64_t writtenBy(const llvm::InlineAsm &copy) {
  uint64_t bytes = 0;
  llvm::StringRef(copy.getAsmString())
      .rsplit(", ")
      .first.rsplit(", ")
      .second.getAsInteger(10, bytes);
  return bytes;
}

/// Where a copy that reads `size` bytes reads nothing. Not chosen between `all` and nothing: null.
Value *isNothing(llvm::IRBuilder<> &builder, Value *size, uint64_t all) {
  if (const auto *bytes = llvm::dyn_cast<llvm::ConstantInt>(size))
    return bytes->isZero() || *bytes->getValue().getRawData() == all
               ? builder.getInt1(bytes->isZero())
               : nullptr;
  auto *choice = llvm::dyn_cast<llvm::SelectInst>(size);
  if (!choice)
    return nullptr;
  Value *ifSo = isNothing(builder, choice->getTrueValue(), all);
  Value *ifNot = isNothing(builder, choice->getFalseValue(), all);
  if (!ifSo || !ifNot)
    return nullptr;
  Value *mask = choice->getCondition();
  if (ifNot == builder.getTrue())
    return builder.CreateOr(builder.CreateNot(mask), ifSo);
  return ifSo == builder.getTrue() ? builder.CreateOr(mask, ifNot) : nullptr;
}

/// How many numbers of bytes of its copies a loop finds made.
size_t countOfInvariant(const llvm::Loop &loop) {
  llvm::SmallPtrSet<const Value *, 16> sizes;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &instruction : *block)
      if (maskedCopy(instruction))
        if (const Value *size = instruction.getOperand(kSizeOperand); loop.isLoopInvariant(size))
          sizes.insert(size);
  return sizes.size();
}

} // namespace

void nameMasksOfCopies(llvm::Function &function, const llvm::LoopInfo &loops) {
  // Predicate registers, less those of the loop itself. More that live over a loop would be kept as
  // bits, so they stay numbers.
  constexpr size_t kMostMasks = 5;
  for (llvm::BasicBlock &block : function) {
    const llvm::Loop *loop = loops.getLoopFor(&block);
    const bool hasMany = loop && countOfInvariant(*loop) > kMostMasks;
    llvm::DenseMap<Value *, Value *> made; // by number of bytes
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      const llvm::InlineAsm *text = maskedCopy(instruction);
      if (!text)
        continue;
      auto *copy = llvm::cast<llvm::CallInst>(&instruction);
      Value *size = copy->getArgOperand(kSizeOperand);
      if (hasMany && loop->isLoopInvariant(size))
        continue;
      llvm::IRBuilder<> builder(copy);
      if (!made.contains(size))
        made[size] = isNothing(builder, size, writtenBy(*text));
      Value *mask = made[size];
      if (!mask)
        continue;
      llvm::SmallVector<Value *> operands(copy->args());
      operands[kSizeOperand] = mask;
      llvm::SmallVector<llvm::Type *> types;
      for (const Value *operand : operands)
        types.push_back(operand->getType());
      std::string constraints = text->getConstraintString().str();
      constraints.replace(constraints.find("r,l,r"), 5, "r,l,b");
      builder.CreateCall(
          llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                               text->getAsmString(), constraints, /*hasSideEffects=*/true),
          operands);
      copy->eraseFromParent();
    }
  }
}

} // namespace blockscope::gpu
