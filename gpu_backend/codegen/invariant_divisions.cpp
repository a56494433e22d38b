// For each divisor: where its inverse is made, before the loops that do not change it, then the
// quotients.
#include "gpu_backend/codegen/invariant_divisions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace blockscope::gpu {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// What takes the place of a divisor d. Of quotients of |d|, rounded to zero, the sign is taken
/// from d.
struct Inverse {
  Value *magnitude; ///< |d|, at least 1
  Value *sign;      ///< 1 or -1
  Value *factor;    ///< 2^(32 + shift) / |d| rounded down, and 1, without bit 32
  Value *shift;     ///< the number of bits of |d| - 1, less 1
};

/// LLVM freezes the divisor of each quotient whose remainder it makes of it.
Value *divisorOf(const llvm::Instruction *division) {
  Value *divisor = division->getOperand(1);
  while (auto *frozen = llvm::dyn_cast<llvm::FreezeInst>(divisor))
    divisor = frozen->getOperand(0);
  return divisor;
}

bool isSigned(const llvm::Instruction *division) {
  return division->getOpcode() == llvm::Instruction::SDiv ||
         division->getOpcode() == llvm::Instruction::SRem;
}

bool isRemainder(const llvm::Instruction *division) {
  return division->getOpcode() == llvm::Instruction::SRem ||
         division->getOpcode() == llvm::Instruction::URem;
}

/// Whether the inverse serves a division: those without a sign only where the dividend could have
/// one.
bool isCandidate(const llvm::Instruction &division, const llvm::SimplifyQuery &query) {
  if (!division.isIntDivRem() || !division.getType()->isIntegerTy(32) ||
      llvm::isa<llvm::Constant>(divisorOf(&division)))
    return false;
  return isSigned(&division) ||
         llvm::isKnownNonNegative(division.getOperand(0), query.getWithInstruction(&division));
}

/// The floor of 2^(32 + shift) / d by a float that is right to 22 bits, and what it leaves. Where
/// it does not fit, for 1, the low 32 bits.
Value *scaledInverse(Builder &builder, Value *divisor, Value *shift) {
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  llvm::Type *real = builder.getFloatTy();
  Value *inverse = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {},
                                           {builder.CreateUIToFP(divisor, real)});
  Value *exponent = builder.CreateShl(builder.CreateAdd(shift, builder.getInt32(127 + 32)), 23);
  Value *scaled = builder.CreateFMul(inverse, builder.CreateBitCast(exponent, real));
  Value *first = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_f2ui_rz, {}, {scaled});
  Value *whole =
      builder.CreateShl(builder.getInt64(int64_t{1} << 32), builder.CreateZExt(shift, wide));
  Value *wideDivisor = builder.CreateZExt(divisor, wide);
  Value *left =
      builder.CreateSub(whole, builder.CreateMul(builder.CreateZExt(first, wide), wideDivisor));
  // Less than 2^11 divisors are left, or too much was taken.
  Value *more =
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_f2i_rm, {},
                              {builder.CreateFMul(builder.CreateSIToFP(left, real), inverse)});
  left = builder.CreateSub(left, builder.CreateMul(builder.CreateSExt(more, wide), wideDivisor));
  Value *isTooMuch = builder.CreateICmpSLT(left, builder.getInt64(0));
  Value *isTooLittle = builder.CreateICmpSGE(left, wideDivisor);
  Value *sum = builder.CreateAdd(first, more);
  sum = builder.CreateAdd(sum, builder.CreateSExt(isTooMuch, word));
  return builder.CreateAdd(sum, builder.CreateZExt(isTooLittle, word));
}

Inverse makeInverse(Builder &builder, Value *divisor, bool isSigned) {
  Value *one = builder.getInt32(1);
  Inverse made{};
  Value *magnitude = divisor;
  if (isSigned) {
    made.sign = builder.CreateOr(builder.CreateAShr(divisor, 31), one);
    magnitude = builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, divisor, builder.getFalse());
  }
  // A loop that never runs may have a divisor of 0.
  made.magnitude = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, magnitude, one);
  Value *zeros = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::ctlz, builder.CreateSub(made.magnitude, one), builder.getFalse());
  zeros = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, zeros, builder.getInt32(31));
  made.shift = builder.CreateSub(builder.getInt32(31), zeros);
  made.factor = builder.CreateAdd(scaledInverse(builder, made.magnitude, made.shift), one);
  return made;
}

/// dividend / |d|, rounded to zero. The upper half of the product is asked for as such: of two
/// numbers made wide, one of them in front of a loop, LLVM makes a product of 64 bits, five
/// instructions.
Value *makeQuotient(Builder &builder, Value *dividend, const Inverse &inverse, bool mayBeNegative) {
  Value *high =
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_i, {}, {dividend, inverse.factor});
  Value *quotient = builder.CreateAShr(builder.CreateAdd(high, dividend), inverse.shift);
  return mayBeNegative ? builder.CreateAdd(quotient, builder.CreateLShr(dividend, 31)) : quotient;
}

void replace(llvm::Instruction *division, const Inverse &inverse,
             const llvm::SimplifyQuery &query) {
  Builder builder(division);
  Value *dividend = division->getOperand(0);
  const bool mayBeNegative =
      !llvm::isKnownNonNegative(dividend, query.getWithInstruction(division));
  Value *result = makeQuotient(builder, dividend, inverse, mayBeNegative);
  if (isRemainder(division))
    result = builder.CreateSub(dividend, builder.CreateMul(result, inverse.magnitude));
  else if (isSigned(division))
    result = builder.CreateMul(result, inverse.sign);
  division->replaceAllUsesWith(result);
  division->eraseFromParent();
}

/// The block before all loops around `block` that do not have `value` inside.
llvm::BasicBlock *outsideLoops(llvm::BasicBlock *block, const Value *value,
                               const llvm::LoopInfo &loops) {
  for (const llvm::Loop *loop = loops.getLoopFor(block); loop; loop = loops.getLoopFor(block)) {
    llvm::BasicBlock *before = loop->getLoopPreheader();
    if (!before || !loop->isLoopInvariant(value))
      break;
    block = before;
  }
  return block;
}

/// LLVM makes short vectors of divisions, which the GPU does not have. Those by one divisor become
/// scalars again.
void takeApart(llvm::Instruction *division) {
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(division->getType());
  Value *divisor = type ? llvm::getSplatValue(division->getOperand(1)) : nullptr;
  if (!divisor || !divisor->getType()->isIntegerTy(32))
    return;
  Builder builder(division);
  Value *result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    Value *one =
        builder.CreateBinOp(llvm::cast<llvm::BinaryOperator>(division)->getOpcode(),
                            builder.CreateExtractElement(division->getOperand(0), i), divisor);
    result = builder.CreateInsertElement(result, one, i);
  }
  division->replaceAllUsesWith(result);
  division->eraseFromParent();
}

} // namespace

namespace {

// The inverse costs 30 instructions, and registers while it lives. Measured: convolutions, with
// hundreds of quotients, gain a fifth and more; a persistent GEMM and attention over pages, with
// a few quotients in a loop, lost a third. Predicted: in each iteration of a loop fewer do, as
// ptxas makes 12 instructions and more of each, and takes the inverse inside the loop.
constexpr size_t kEnough = 32, kEnoughInLoop = 8;

} // namespace

bool mayMultiplyByInverses(const llvm::Function &function) {
  size_t count = 0;
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block) {
      const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
      if (instruction.isIntDivRem() && !llvm::isa<llvm::Constant>(divisorOf(&instruction)))
        count += type ? type->getNumElements() : 1;
    }
  return count >= kEnoughInLoop;
}

void multiplyByInverses(llvm::Function &function) {
  const llvm::SimplifyQuery query(function.getDataLayout());
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block))
      if (instruction.isIntDivRem())
        takeApart(&instruction);
  llvm::MapVector<std::pair<Value *, unsigned>, llvm::SmallVector<llvm::Instruction *>> groups;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (isCandidate(instruction, query))
        groups[{divisorOf(&instruction), isSigned(&instruction)}].push_back(&instruction);
  if (groups.empty())
    return;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (const auto &entry : groups) {
    const llvm::SmallVector<llvm::Instruction *> &divisions = entry.second;
    Value *divisor = divisorOf(divisions.front()); // it may have been a quotient
    llvm::BasicBlock *place = nullptr;
    size_t inLoops = 0;
    for (const llvm::Instruction *division : divisions) {
      auto *inside = const_cast<llvm::BasicBlock *>(division->getParent());
      llvm::BasicBlock *outside = outsideLoops(inside, divisor, loops);
      inLoops += outside != inside;
      place = place ? dominators.findNearestCommonDominator(place, outside) : outside;
    }
    place = outsideLoops(place, divisor, loops);
    if (divisions.size() < kEnough && inLoops < kEnoughInLoop)
      continue;
    llvm::Instruction *before = place->getTerminator();
    for (llvm::Instruction *division : divisions)
      if (division->getParent() == place && division->comesBefore(before))
        before = division;
    Builder builder(before);
    const Inverse inverse =
        makeInverse(builder, builder.CreateFreeze(divisor), isSigned(divisions.front()));
    for (llvm::Instruction *division : divisions)
      replace(division, inverse, query);
  }
}

} // namespace blockscope::gpu
