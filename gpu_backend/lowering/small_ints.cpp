// Bytes go by prmt, two or one to a register; other integers by an addition.
//
// The float 2^m whose mantissa counts by ones has the integer n < 2^m as 2^m + n in its bits: 1024
// in fp16, 128 in bf16, 2^23 in fp32.
#include "gpu_backend/lowering/small_ints.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace blockscope::gpu {
namespace {

constexpr uint32_t kSigns = 0x80808080;

class SmallInts {
public:
  SmallInts(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, llvm::Type *to,
            bool isUnsigned)
      : lowering_(lowering), builder_(lowering.builder()), values_(values), to_(to),
        isUnsigned_(isUnsigned) {}

  /// Of 8 bits.
  Registers bytes() {
    if (to_->isBFloatTy() && (isUnsigned_ || !hasBf16Sums())) {
      const Registers singles =
          SmallInts(lowering_, values_, builder_.getFloatTy(), isUnsigned_).bytes();
      Registers results;
      for (llvm::Value *single : singles)
        results.push_back(builder_.CreateFPTrunc(single, to_));
      return results;
    }
    Registers results;
    for (size_t i = 0; i < values_.size(); i += 4) {
      const size_t count = std::min<size_t>(4, values_.size() - i);
      llvm::Value *word = packed(values_.slice(i, count));
      if (to_->isFloatTy())
        singles(word, count, results);
      else
        halves(word, count, results);
    }
    return results;
  }

  /// All of them in [0, 2^bits) or, signed, in [-2^(bits-1), 2^(bits-1)): added to the bits of the
  /// power of two, or to those of 1.5 times it.
  Registers inMantissa(bool isSigned) {
    const uint32_t power = to_->isHalfTy() ? 0x6400 : 0x4300;
    const uint32_t bits = isSigned ? power | 1U << (mantissaBits() - 1) : power;
    llvm::Value *both = lowering_.i32(bits << 16 | bits);
    Registers results;
    for (size_t i = 0; i < values_.size(); i += 2) {
      const size_t count = std::min<size_t>(2, values_.size() - i);
      llvm::Value *low = word(values_[i]), *high = word(values_[i + count - 1]);
      if (isSigned) {
        low = builder_.CreateAdd(low, lowering_.i32(bits));
        high = builder_.CreateAdd(high, lowering_.i32(bits));
      }
      llvm::Value *pair = prmt(low, high, 0x5410);
      subtract(isSigned ? pair : builder_.CreateOr(pair, both), both, count, results);
    }
    return results;
  }

  /// How many bits integers may have.
  unsigned mantissaBits() const { return to_->isHalfTy() ? 10 : 7; }

  bool hasBf16Sums() const { return lowering_.target().hasWgmma || lowering_.target().hasFp8; }

private:
  llvm::Value *prmt(llvm::Value *low, llvm::Value *high, uint32_t selector) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_prmt,
                                    {low, high, lowering_.i32(selector)});
  }

  /// `(value & mask) | more` as one instruction: ptxas makes two of it where both are constants.
  llvm::Value *bitsOf(llvm::Value *value, uint32_t mask, uint32_t more) {
    return lowering_.assembly(builder_.getInt32Ty(), "lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,n,n",
                              {value, lowering_.i32(mask), lowering_.i32(more)},
                              /*hasSideEffects=*/false);
  }

  llvm::Value *packed(llvm::ArrayRef<llvm::Value *> bytes) {
    llvm::Value *word = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getInt8Ty(), 4));
    for (size_t i = 0; i < 4; ++i) // the last one again where there are fewer
      word = builder_.CreateInsertElement(word, bytes[std::min(i, bytes.size() - 1)], i);
    return builder_.CreateBitCast(word, builder_.getInt32Ty());
  }

  llvm::Value *word(llvm::Value *value) {
    return isUnsigned_ ? builder_.CreateZExtOrTrunc(value, builder_.getInt32Ty())
                       : builder_.CreateSExtOrTrunc(value, builder_.getInt32Ty());
  }

  void singles(llvm::Value *word, size_t count, Registers &results) {
    constexpr double kPower = 8388608; // 2^23
    if (!isUnsigned_)
      word = builder_.CreateXor(word, lowering_.i32(kSigns)); // 128 more
    llvm::Value *offset = llvm::ConstantFP::get(to_, isUnsigned_ ? kPower : kPower + 128);
    for (size_t i = 0; i < count; ++i) {
      llvm::Value *bits = prmt(word, lowering_.i32(0x4B000000), 0x7440 | static_cast<uint32_t>(i));
      results.push_back(builder_.CreateFSub(builder_.CreateBitCast(bits, to_), offset));
    }
  }

  void halves(llvm::Value *word, size_t count, Registers &results) {
    for (size_t i = 0; i < count; i += 2) {
      const uint32_t selector = i == 0 ? 0x4140 : 0x4342;
      const size_t left = std::min<size_t>(2, count - i);
      if (to_->isHalfTy()) {
        llvm::Value *positive =
            isUnsigned_ ? word : builder_.CreateXor(word, lowering_.i32(kSigns)); // 128 more
        subtract(prmt(positive, lowering_.i32(0x64646464), selector),
                 lowering_.i32(isUnsigned_ ? 0x64006400 : 0x64806480), left, results);
      } else { // 128 + the low 7 bits, less 128, or 256 where the sign is set
        // Of a constant and a selector ptxas keeps one in a uniform register, which it moves for
        // each prmt. Zero is a register.
        llvm::Value *bytes = prmt(word, lowering_.i32(0), selector);
        const auto part = [&](uint32_t mask) { return bitsOf(bytes, mask, 0x43004300); };
        subtract(part(0x007f007f), part(0x00800080), left, results);
      }
    }
  }

  /// The first `count` of two 16-bit floats.
  void subtract(llvm::Value *from, llvm::Value *what, size_t count, Registers &results) {
    llvm::Type *pair = llvm::FixedVectorType::get(to_, 2);
    llvm::Value *difference =
        builder_.CreateFSub(builder_.CreateBitCast(from, pair), builder_.CreateBitCast(what, pair));
    for (size_t i = 0; i < count; ++i)
      results.push_back(builder_.CreateExtractElement(difference, i));
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  llvm::ArrayRef<llvm::Value *> values_;
  llvm::Type *to_;
  bool isUnsigned_;
};

} // namespace

std::optional<Registers> smallIntsToFloats(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values,
                                           llvm::Type *to, bool isUnsigned) {
  const unsigned width = values.front()->getType()->getIntegerBitWidth();
  SmallInts ints(lowering, values, to, isUnsigned);
  if (width == 8 && (to->isHalfTy() || to->isBFloatTy() || to->isFloatTy()))
    return ints.bytes();
  if (width < 16 || !(to->isHalfTy() || (to->isBFloatTy() && ints.hasBf16Sums())))
    return std::nullopt;
  const llvm::DataLayout &layout = lowering.function().getParent()->getDataLayout();
  const unsigned bits = ints.mantissaBits();
  if (llvm::all_of(values, [&](llvm::Value *value) {
        return llvm::computeKnownBits(value, layout).countMaxActiveBits() <= bits;
      }))
    return ints.inMantissa(/*isSigned=*/false);
  if (!isUnsigned && llvm::all_of(values, [&](llvm::Value *value) {
        return llvm::ComputeMaxSignificantBits(value, layout) <= bits;
      }))
    return ints.inMantissa(/*isSigned=*/true);
  return std::nullopt;
}

} // namespace blockscope::gpu
