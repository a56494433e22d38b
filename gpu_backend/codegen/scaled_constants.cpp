// Looks for the constant part of an index, then makes the index without it.
#include "gpu_backend/codegen/scaled_constants.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/Local.h"

namespace blockscope::gpu {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// What a part of an index goes through on its way to the address. It says which sums may be
/// divided into a constant and the rest: those that are exact in the wide type.
struct Way {
  enum Widening {
    kNone,     ///< any sum
    kUnsigned, ///< sums that do not wrap, of parts that are not negative
    kSigned,   ///< a number and a constant, where they do not wrap
  } widening = kNone;
  bool onlyBits = false; ///< only parts without a bit in common, so that the rest has no new bit
  bool throughFactors = true; ///< also what is multiplied
};

/// Deeper ones are not looked at.
constexpr int kDeepest = 8;

bool isDisjointOr(const llvm::BinaryOperator &operation) {
  const auto *disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&operation);
  return disjoint && disjoint->isDisjoint();
}

/// Whether both operands of a sum may be divided.
bool dividesBoth(const llvm::BinaryOperator &sum, Way way) {
  if (isDisjointOr(sum))
    return true;
  return sum.getOpcode() == llvm::Instruction::Add && !way.onlyBits &&
         (way.widening == Way::kNone ||
          (way.widening == Way::kUnsigned && sum.hasNoUnsignedWrap()));
}

/// Whether only the second operand of a sum, a constant, may be taken from it.
bool dividesOne(const llvm::BinaryOperator &sum, Way way) {
  return sum.getOpcode() == llvm::Instruction::Add && !way.onlyBits &&
         way.widening == Way::kSigned && sum.hasNoSignedWrap() &&
         llvm::isa<llvm::ConstantInt>(sum.getOperand(1));
}

/// The way of a sum's operand.
Way below(const llvm::BinaryOperator &sum, Way way) {
  return {way.widening, way.onlyBits || isDisjointOr(sum), way.throughFactors};
}

/// A cast to a wider index, if it is one.
const llvm::CastInst *wideningOf(const Value *value, Way way) {
  const bool isWidening =
      llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value) && way.widening == Way::kNone;
  const auto *cast = isWidening ? llvm::cast<llvm::CastInst>(value) : nullptr;
  return cast && cast->getSrcTy()->isIntegerTy(32) ? cast : nullptr;
}

Way below(const llvm::CastInst &widening, Way way) {
  return {llvm::isa<llvm::ZExtInst>(widening) ? Way::kUnsigned : Way::kSigned, way.onlyBits,
          way.throughFactors};
}

/// The number that a shift or product multiplies each part by, or 0.
int64_t factorOf(const llvm::BinaryOperator &product, Way way) {
  const auto *by = llvm::dyn_cast<llvm::ConstantInt>(product.getOperand(1));
  const bool isShift = product.getOpcode() == llvm::Instruction::Shl;
  if (!way.throughFactors || !by || (!isShift && product.getOpcode() != llvm::Instruction::Mul) ||
      (way.widening == Way::kUnsigned && !product.hasNoUnsignedWrap()) ||
      (way.widening == Way::kSigned && !product.hasNoSignedWrap()) ||
      (!isShift && (way.widening == Way::kSigned || way.onlyBits)))
    return 0;
  if (isShift)
    return by->getValue().ult(31) ? int64_t{1} << by->getZExtValue() : 0;
  return by->getValue().isStrictlyPositive() && by->getValue().isSignedIntN(32) ? by->getSExtValue()
                                                                                : 0;
}

/// The way of a factor's operand. A number with a sign must not wrap when it is shifted without its
/// constant, so its upper bits stay.
Way belowFactor(Way way) {
  return {way.widening, way.onlyBits || way.widening == Way::kSigned, true};
}

/// The constant part of `value`.
int64_t constantOf(const Value *value, Way way, int depth = 0) {
  if (const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    const llvm::APInt &bits = constant->getValue();
    if (bits.getSignificantBits() > 32)
      return 0;
    return way.widening == Way::kUnsigned ? static_cast<int64_t>(bits.getZExtValue())
                                          : bits.getSExtValue();
  }
  if (depth == kDeepest)
    return 0;
  if (const llvm::CastInst *cast = wideningOf(value, way))
    return constantOf(cast->getOperand(0), below(*cast, way), depth + 1);
  const auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!operation)
    return 0;
  const Value *first = operation->getOperand(0), *second = operation->getOperand(1);
  if (dividesBoth(*operation, way))
    return constantOf(first, below(*operation, way), depth + 1) +
           constantOf(second, below(*operation, way), depth + 1);
  if (dividesOne(*operation, way))
    return llvm::cast<llvm::ConstantInt>(second)->getSExtValue() +
           constantOf(first, way, depth + 1);
  const int64_t factor = factorOf(*operation, way);
  if (factor == 0)
    return 0;
  const int64_t part = constantOf(first, belowFactor(way), depth + 1);
  const bool fits = way.widening == Way::kSigned ? part >= 0 && part < (int64_t{1} << 30) / factor
                                                 : llvm::isInt<32>(part);
  return fits ? part * factor : 0;
}

/// `value` without its constant part.
Value *withoutConstant(Builder &builder, Value *value, Way way, int depth = 0) {
  if (constantOf(value, way, depth) == 0)
    return value;
  if (llvm::isa<llvm::ConstantInt>(value))
    return llvm::ConstantInt::get(value->getType(), 0);
  if (const llvm::CastInst *cast = wideningOf(value, way)) {
    Value *rest = withoutConstant(builder, cast->getOperand(0), below(*cast, way), depth + 1);
    return builder.CreateCast(cast->getOpcode(), rest, value->getType());
  }
  auto *operation = llvm::cast<llvm::BinaryOperator>(value);
  Value *first = operation->getOperand(0), *second = operation->getOperand(1);
  const bool isUnsigned = way.widening == Way::kUnsigned;
  if (dividesBoth(*operation, way)) {
    first = withoutConstant(builder, first, below(*operation, way), depth + 1);
    second = withoutConstant(builder, second, below(*operation, way), depth + 1);
    return isDisjointOr(*operation) ? builder.CreateOr(first, second, "", /*IsDisjoint=*/true)
                                    : builder.CreateAdd(first, second, "", isUnsigned);
  }
  if (dividesOne(*operation, way))
    return withoutConstant(builder, first, way, depth + 1);
  first = withoutConstant(builder, first, belowFactor(way), depth + 1);
  const bool isSigned = way.widening == Way::kSigned;
  return operation->getOpcode() == llvm::Instruction::Shl
             ? builder.CreateShl(first, second, "", isUnsigned, isSigned)
             : builder.CreateMul(first, second, "", isUnsigned, isSigned);
}

bool takeOut(llvm::GetElementPtrInst &address, const llvm::DataLayout &layout) {
  // What an access adds to its address has 24 bits.
  constexpr int64_t kFarthest = (int64_t{1} << 23) - 1;
  if (address.getNumIndices() != 1 || address.getType()->isVectorTy())
    return false;
  Value *index = address.getOperand(1);
  if (llvm::isa<llvm::Constant>(index) ||
      index->getType()->getIntegerBitWidth() != layout.getIndexTypeSizeInBits(address.getType()))
    return false;
  const auto size =
      static_cast<int64_t>(layout.getTypeAllocSize(address.getSourceElementType()).getFixedValue());
  const int64_t constant = constantOf(index, Way()), distance = constant * size;
  if (constant == constantOf(index, {.throughFactors = false})) // none, or LLVM's pass sees it
    return false;
  if (constant > kFarthest || constant < -kFarthest || distance > kFarthest ||
      distance < -kFarthest)
    return false;
  Builder builder(&address);
  Value *rest = builder.CreateGEP(address.getSourceElementType(), address.getPointerOperand(),
                                  withoutConstant(builder, index, Way()));
  address.replaceAllUsesWith(
      builder.CreatePtrAdd(rest, llvm::ConstantInt::get(index->getType(), distance)));
  llvm::RecursivelyDeleteTriviallyDeadInstructions(&address);
  return true;
}

} // namespace

bool takeOutScaledConstants(llvm::Function &function) {
  llvm::SmallVector<llvm::WeakTrackingVH> addresses; // making one can delete others
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (llvm::isa<llvm::GetElementPtrInst>(instruction))
        addresses.emplace_back(&instruction);
  bool isChanged = false;
  for (const llvm::WeakTrackingVH &address : addresses)
    if (auto *found = llvm::dyn_cast_or_null<llvm::GetElementPtrInst>(address))
      isChanged |= takeOut(*found, function.getDataLayout());
  return isChanged;
}

} // namespace blockscope::gpu
