// Behind all other passes, which know what a shift does and nothing of assembly.
//
// Source: PTX ISA, "shl" and "shr": "Shift amounts greater than the register width N are clamped to
// N."
#include "gpu_backend/codegen/clamped_shifts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

namespace blockscope::gpu {
namespace {

using namespace llvm::PatternMatch;

constexpr unsigned kBits = 32;

/// A shift and the number that it is guarded against.
struct Guarded {
  llvm::BinaryOperator *shift = nullptr;
  llvm::Value *amount = nullptr;
};

/// A shift by the least of a number and 31: to the right, with copies of the sign.
Guarded leastOf(llvm::Instruction &instruction) {
  Guarded found;
  if (match(&instruction,
            m_AShr(m_Value(), m_UMin(m_Value(found.amount), m_SpecificInt(kBits - 1)))))
    found.shift = llvm::cast<llvm::BinaryOperator>(&instruction);
  return found;
}

/// A choice of 0 where a number is above 31, else of a shift by it.
Guarded orZero(llvm::Instruction &instruction) {
  llvm::Value *amount = nullptr, *shifted = nullptr;
  llvm::CmpPredicate predicate;
  const bool isAbove =
      match(&instruction, m_Select(m_ICmp(predicate, m_Value(amount), m_SpecificInt(kBits - 1)),
                                   m_Zero(), m_Value(shifted))) &&
      predicate == llvm::CmpInst::ICMP_UGT;
  const bool isBelow =
      !isAbove &&
      match(&instruction, m_Select(m_ICmp(predicate, m_Value(amount), m_SpecificInt(kBits)),
                                   m_Value(shifted), m_Zero())) &&
      predicate == llvm::CmpInst::ICMP_ULT;
  if (!isAbove && !isBelow)
    return {};
  const auto byAmount =
      m_CombineOr(m_Specific(amount), m_UMin(m_Specific(amount), m_SpecificInt(kBits - 1)));
  if (!match(shifted, m_LogicalShift(m_Value(), byAmount)))
    return {};
  return {llvm::cast<llvm::BinaryOperator>(shifted), amount};
}

const char *instructionOf(const llvm::BinaryOperator &shift) {
  switch (shift.getOpcode()) {
  case llvm::Instruction::Shl:
    return "shl.b32 $0, $1, $2;";
  case llvm::Instruction::LShr:
    return "shr.u32 $0, $1, $2;";
  default:
    return "shr.s32 $0, $1, $2;";
  }
}

} // namespace

void shiftByAnyNumber(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!instruction.getType()->isIntegerTy(kBits))
      continue;
    Guarded guarded = orZero(instruction);
    if (!guarded.shift)
      guarded = leastOf(instruction);
    if (!guarded.shift)
      continue;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Type *word = builder.getInt32Ty();
    auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word}, false),
                                          instructionOf(*guarded.shift), "=r,r,r",
                                          /*sideEffects=*/false);
    instruction.replaceAllUsesWith(
        builder.CreateCall(assembly, {guarded.shift->getOperand(0), guarded.amount}));
    instruction.eraseFromParent();
    // What is left of a guard has no use: instruction selection leaves it out.
  }
}

} // namespace blockscope::gpu
