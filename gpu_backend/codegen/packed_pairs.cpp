// Follows a pair from where it becomes one register to what its two values have in common.
#include "gpu_backend/codegen/packed_pairs.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Utils/Local.h"

#include <optional>
#include <utility>

namespace blockscope::gpu {
namespace {

using llvm::Value;
namespace match = llvm::PatternMatch;

constexpr unsigned kHalf = 16;
constexpr uint32_t kLow = 0xFFFF;
constexpr uint64_t kLowHalves = 0x5410; // the selector of prmt: of both operands

/// (`word` >> `distance`) & `mask`; `mask` has no bits that are 0 anyway.
struct Bits {
  Value *word;
  uint64_t distance; ///< below 32
  uint32_t mask;
};

Bits bitsOf(Value *value) {
  const llvm::APInt *mask = nullptr, *distance = nullptr;
  Bits bits{value, 0, ~uint32_t{0}};
  if (match::match(value, match::m_And(match::m_Value(bits.word), match::m_APInt(mask))))
    bits.mask = static_cast<uint32_t>(mask->getZExtValue());
  Value *shifted = bits.word;
  if (match::match(shifted, match::m_LShr(match::m_Value(bits.word), match::m_APInt(distance))) &&
      distance->ult(2 * kHalf))
    bits.distance = distance->getZExtValue();
  else
    bits.word = shifted;
  bits.mask &= ~uint32_t{0} >> bits.distance;
  return bits;
}

using Op = llvm::BinaryOperator;

bool isSum(const Value *value) {
  const auto *op = llvm::dyn_cast<Op>(value);
  return op && (op->getOpcode() == Op::Add || op->getOpcode() == Op::Sub);
}

Value *operandOf(Value *value, unsigned i) { return llvm::cast<Op>(value)->getOperand(i); }

class PairOps {
public:
  explicit PairOps(llvm::Instruction *pair) : layout_(pair->getDataLayout()), builder_(pair) {}

  /// How many instructions fewer it is to compute the pair at once. What is not made in the same
  /// way becomes a pair itself, for as much as one that it would be part of.
  int gain(Value *low, Value *high, bool isTerm = false) const {
    if (areConstant(low, high))
      return 1; // what makes them a pair
    const Bits lower = bitsOf(low), upper = bitsOf(high);
    if (areOfOneWord(lower, upper)) // a shift, a mask, and what makes them a pair; or nothing
      return lower.distance + kHalf == upper.distance ? 3 : 0;
    if (!isSameOp(low, high, isTerm))
      return 0;
    return gain(operandOf(low, 0), operandOf(high, 0), isSum(low)) +
           gain(operandOf(low, 1), operandOf(high, 1), isSum(low));
  }

  /// `high` * 2^16 + `low`, which is the pair where `low` is in [0, 2^16).
  Value *make(Value *low, Value *high, bool isTerm = false) {
    if (areConstant(low, high)) {
      const uint32_t lower = constant(low), upper = constant(high) << kHalf;
      return builder_.getInt32(isTerm ? upper + lower : upper | (lower & kLow));
    }
    const Bits lower = bitsOf(low), upper = bitsOf(high);
    if (areOfOneWord(lower, upper)) {
      const uint32_t lowMask = lower.mask & kLow, highMask = upper.mask << kHalf;
      Value *first = builder_.CreateLShr(lower.word, lower.distance);
      if (lower.distance + kHalf == upper.distance)
        return builder_.CreateAnd(first, lowMask | highMask);
      Value *second = upper.distance < kHalf
                          ? builder_.CreateShl(upper.word, kHalf - upper.distance)
                          : builder_.CreateLShr(upper.word, upper.distance - kHalf);
      return builder_.CreateOr(builder_.CreateAnd(first, lowMask),
                               builder_.CreateAnd(second, highMask));
    }
    if (!isSameOp(low, high, isTerm))
      return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt,
                                      {low, high, builder_.getInt32(kLowHalves)});
    Value *left = make(operandOf(low, 0), operandOf(high, 0), isSum(low));
    Value *right = make(operandOf(low, 1), operandOf(high, 1), isSum(low));
    return builder_.CreateBinOp(llvm::cast<Op>(low)->getOpcode(), left, right);
  }

private:
  static bool areConstant(Value *low, Value *high) {
    return llvm::isa<llvm::ConstantInt>(low) && llvm::isa<llvm::ConstantInt>(high);
  }

  static uint32_t constant(Value *value) {
    return static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(value)->getZExtValue());
  }

  /// Whether the pair is bits of one word, not all of it.
  static bool areOfOneWord(const Bits &low, const Bits &high) {
    return low.word == high.word && low.distance != high.distance;
  }

  /// Whether both are made by one op, for nothing else, that a pair can go through.
  static bool areMadeAlike(Value *low, Value *high) {
    const auto *lower = llvm::dyn_cast<Op>(low), *upper = llvm::dyn_cast<Op>(high);
    return lower && upper && lower->getOpcode() == upper->getOpcode() && lower->hasOneUse() &&
           upper->hasOneUse() && (lower->isBitwiseLogicOp() || isSum(lower));
  }

  /// Whether the pair is made by that op. A sum of sums may borrow from the upper number in
  /// between, as long as it gives back in the end.
  bool isSameOp(Value *low, Value *high, bool isTerm) const {
    return areMadeAlike(low, high) && (!isSum(low) || isTerm || isShort(rangeOf(low, high)));
  }

  using Range = std::optional<std::pair<int64_t, int64_t>>; ///< least and greatest

  static bool isShort(const Range &range) {
    return range && range->first >= 0 && range->second <= int64_t{kLow};
  }

  /// What the lower number may be, if it is a sum of constants and numbers in [0, 2^16), as which
  /// `make` takes it: what is part of a pair is 16 bits of it, not what it is worth.
  Range rangeOf(Value *low, Value *high) const {
    if (areConstant(low, high)) {
      const int64_t number = llvm::cast<llvm::ConstantInt>(low)->getSExtValue();
      return std::pair(number, number);
    }
    if (areOfOneWord(bitsOf(low), bitsOf(high)) || !areMadeAlike(low, high) || !isSum(low)) {
      const llvm::KnownBits known = llvm::computeKnownBits(low, layout_);
      if (known.countMaxActiveBits() > kHalf)
        return std::nullopt;
      return std::pair(static_cast<int64_t>(known.getMinValue().getZExtValue()),
                       static_cast<int64_t>(known.getMaxValue().getZExtValue()));
    }
    const Range left = rangeOf(operandOf(low, 0), operandOf(high, 0)),
                right = rangeOf(operandOf(low, 1), operandOf(high, 1));
    if (!left || !right)
      return std::nullopt;
    return llvm::cast<Op>(low)->getOpcode() == Op::Add
               ? std::pair(left->first + right->first, left->second + right->second)
               : std::pair(left->first - right->second, left->second - right->first);
  }

  const llvm::DataLayout &layout_;
  llvm::IRBuilder<> builder_;
};

} // namespace

void computePairsAtOnce(llvm::Function &function) {
  llvm::SmallVector<llvm::IntrinsicInst *> pairs;
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : block)
      if (match::match(&instruction,
                       match::m_Intrinsic<llvm::Intrinsic::nvvm_prmt>(
                           match::m_Value(), match::m_Value(), match::m_SpecificInt(kLowHalves))))
        pairs.push_back(llvm::cast<llvm::IntrinsicInst>(&instruction));
  for (llvm::IntrinsicInst *pair : pairs) {
    Value *low = pair->getArgOperand(0), *high = pair->getArgOperand(1);
    PairOps ops(pair);
    if (ops.gain(low, high) <= 0)
      continue;
    pair->replaceAllUsesWith(ops.make(low, high));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(pair);
  }
}

} // namespace blockscope::gpu
