// tl.sort along the last dimension: a bitonic network on integer keys, whose exchanges are between
// registers, between lanes by shuffles, or between warps through shared memory.
//
// Keys have the evaluator's total order: -0 before +0, NaNs after all else, without their sign. For
// fp8, whose formats disagree on what the bits mean, tables give the rank of an encoding and back.
//
// Where only the first k are needed, runs of k are sorted, and of two runs the better half is kept
// and sorted, until one is left: in registers first, where each time half of them is done with.
#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/lowering/convert_layout.h"
#include "gpu_backend/lowering/families.h"
#include "gpu_backend/lowering/partial_sort.h"

#include "core/ir/convert.h"
#include "core/ir/tl_dialect.h"
#include "core/numeric/float_format.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscope::gpu {
namespace {

// -- keys -----------------------------------------------------------------------------------------

/// The order of fp8 encodings: that of their values as fp32, then that of the encodings.
template <typename Decode> std::array<uint8_t, 256> encodingsInOrder(Decode decode) {
  const auto keyOf = [&](uint8_t encoding) -> int64_t {
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(decode(encoding)));
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u || bits == magnitude)
      return magnitude;
    return static_cast<int32_t>(~magnitude);
  };
  std::array<uint8_t, 256> order;
  std::iota(order.begin(), order.end(), uint8_t{0});
  llvm::sort(order,
             [&](uint8_t a, uint8_t b) { return std::pair(keyOf(a), a) < std::pair(keyOf(b), b); });
  return order;
}

std::array<uint8_t, 256> fp8InOrder(DType dtype) {
  using namespace numeric;
  switch (dtype) {
  case DType::Fp8E4M3NV:
    return encodingsInOrder(decode<kFp8E4M3NV>);
  case DType::Fp8E4M3B8:
    return encodingsInOrder(decode<kFp8E4M3B8>);
  case DType::Fp8E4M3B15:
    return encodingsInOrder(decodeE4M3B15);
  case DType::Fp8E5M2:
    return encodingsInOrder(decode<kFp8E5M2>);
  default:
    return encodingsInOrder(decode<kFp8E5M2B16>);
  }
}

class Keys {
public:
  Keys(Lowering &lowering, Type type, bool isUnsigned)
      : lowering_(lowering), builder_(lowering.builder()), type_(type),
        element_(lowering.elementType(type)), isUnsigned_(isUnsigned || type.isInteger(1)) {
    if (isa<FloatType>(type) && tlg::elementBytes(type) == 1) {
      const std::array<uint8_t, 256> order = fp8InOrder(fromMlirType(type).dtype);
      std::array<uint8_t, 256> ranks;
      for (int rank = 0; rank < 256; ++rank)
        ranks[order[rank]] = static_cast<uint8_t>(rank);
      encodings_ = table(order, "sort_encodings");
      ranks_ = table(ranks, "sort_ranks");
      isUnsigned_ = true;
    }
  }

  bool isUnsigned() const { return isUnsigned_; }

  llvm::Value *toKey(llvm::Value *value) {
    if (ranks_)
      return builder_.CreateZExt(lookUp(ranks_, value), builder_.getInt32Ty());
    if (element_->isFloatingPointTy())
      value = floatKey(value);
    if (value->getType()->getIntegerBitWidth() >= 32)
      return value;
    return isUnsigned_ ? builder_.CreateZExt(value, builder_.getInt32Ty())
                       : builder_.CreateSExt(value, builder_.getInt32Ty());
  }

  llvm::Value *fromKey(llvm::Value *key) {
    if (encodings_)
      return lookUp(encodings_, key);
    key = builder_.CreateTrunc(key, builder_.getIntNTy(element_->getPrimitiveSizeInBits()));
    if (!element_->isFloatingPointTy())
      return key;
    auto *sign = llvm::ConstantInt::get(
        key->getType(), llvm::APInt::getSignMask(key->getType()->getIntegerBitWidth()));
    llvm::Value *negative = builder_.CreateOr(builder_.CreateNot(key), sign);
    llvm::Value *isNegative =
        builder_.CreateICmpSLT(key, llvm::ConstantInt::get(key->getType(), 0));
    return builder_.CreateBitCast(builder_.CreateSelect(isNegative, negative, key), element_);
  }

private:
  /// The bits of a float as a signed integer in the order of the numbers.
  llvm::Value *floatKey(llvm::Value *value) {
    const auto bits = static_cast<unsigned>(element_->getPrimitiveSizeInBits());
    llvm::Type *integer = builder_.getIntNTy(bits);
    const llvm::APInt infinity =
        llvm::APFloat::getInf(element_->getFltSemantics()).bitcastToAPInt();
    value = builder_.CreateBitCast(value, integer);
    llvm::Value *magnitude = builder_.CreateAnd(
        value, llvm::ConstantInt::get(integer, llvm::APInt::getSignedMaxValue(bits)));
    llvm::Value *isNan =
        builder_.CreateICmpUGT(magnitude, llvm::ConstantInt::get(integer, infinity));
    llvm::Value *isNegative = builder_.CreateICmpSLT(value, llvm::ConstantInt::get(integer, 0));
    llvm::Value *isInverted = builder_.CreateAnd(isNegative, builder_.CreateNot(isNan));
    return builder_.CreateSelect(isInverted, builder_.CreateNot(magnitude), magnitude);
  }

  llvm::Value *table(llvm::ArrayRef<uint8_t> bytes, const char *name) {
    auto *data = llvm::ConstantDataArray::get(lowering_.context(), bytes);
    return new llvm::GlobalVariable(lowering_.module(), data->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::InternalLinkage, data, name, nullptr,
                                    llvm::GlobalValue::NotThreadLocal, kGlobalSpace);
  }

  llvm::Value *lookUp(llvm::Value *bytes, llvm::Value *index) {
    index = builder_.CreateZExt(index, builder_.getInt32Ty());
    return builder_.CreateLoad(builder_.getInt8Ty(),
                               builder_.CreateGEP(builder_.getInt8Ty(), bytes, index));
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  Type type_;
  llvm::Type *element_;
  bool isUnsigned_;
  llvm::Value *encodings_ = nullptr, *ranks_ = nullptr; ///< for fp8
};

// -- network --------------------------------------------------------------------------------------

/// A truth that is known for a register, or differs between threads.
struct Condition {
  bool isTrue = false;
  llvm::Value *inThread = nullptr;
};

class BitonicSort {
public:
  BitonicSort(Lowering &lowering, const LinearLayout &layout, llvm::ArrayRef<BitOwner> owners,
              bool isUnsigned, bool isDescending)
      : lowering_(lowering), builder_(lowering.builder()), layout_(layout), free_(freeBits(layout)),
        owners_(owners), isUnsigned_(isUnsigned), isDescending_(isDescending) {}

  void run(Registers &keys) {
    const int width = static_cast<int>(owners_.size());
    sortRuns(keys, width, {});
  }

  /// Has each run of 2^kept elements be the first ones of all.
  void keepFirst(Registers &keys, int kept) {
    llvm::SmallVector<int> bits; // in which runs differ, those of registers first
    for (const Level level : {Level::Registers, Level::Lanes, Level::Warps})
      for (int bit = kept; bit < static_cast<int>(owners_.size()); ++bit)
        if (owners_[bit].level == level)
          bits.push_back(bit);
    uint32_t done = 0; // registers whose run is that of another one
    for (size_t i = 0; i <= bits.size(); ++i) {
      const std::optional<int> next = i < bits.size() ? std::optional<int>(bits[i]) : std::nullopt;
      if (i == 0) {
        sortRuns(keys, kept, next);
        continue;
      }
      keepBetter(keys, bits[i - 1]);
      if (owners_[bits[i - 1]].level == Level::Registers)
        done |= 1U << owners_[bits[i - 1]].bit;
      free_.registers |= done;
      merge(keys, kept, next);
    }
    for (size_t reg = 0; reg < keys.size(); ++reg)
      keys[reg] = keys[reg & ~done];
  }

private:
  /// Sorts runs of 2^width elements, up or down as bit `direction` of the coordinate says.
  void sortRuns(Registers &keys, int width, std::optional<int> direction) {
    for (int size = 1; size < width; ++size) // up and down alternately
      merge(keys, size, size);
    if (width > 0)
      merge(keys, width, direction);
  }

  /// Sorts runs of 2^size elements that are bitonic.
  void merge(Registers &keys, int size, std::optional<int> direction) {
    for (int bit = size - 1; bit >= 0; --bit)
      exchange(keys, bit, direction);
  }

  /// Whether the run of a register's element is to ascend: all of them do, or do not, or those do
  /// that have a 0 in bit `direction` of their coordinate.
  Condition ascends(int reg, std::optional<int> direction) {
    if (!direction)
      return {!isDescending_, nullptr};
    const Condition isOdd = coordinateBit(reg, *direction);
    if (isOdd.inThread)
      return {false, isDescending_ ? isOdd.inThread : builder_.CreateNot(isOdd.inThread)};
    return {isOdd.isTrue == isDescending_, nullptr};
  }

  /// Of two runs that differ in `bit` and are sorted in different directions, both get the half of
  /// their elements that comes first; it is bitonic.
  void keepBetter(Registers &keys, int bit) {
    const auto better = [&](llvm::Value *a, llvm::Value *b) {
      return isDescending_ ? larger(a, b) : smaller(a, b);
    };
    const BitOwner owner = owners_[bit];
    if (owner.level == Level::Registers) {
      for (const int reg : ownRegisters())
        if ((reg >> owner.bit & 1) == 0)
          keys[reg] = better(keys[reg], keys[reg | 1 << owner.bit]);
      return;
    }
    const Registers others = partners(keys, owner);
    for (const int reg : ownRegisters())
      keys[reg] = better(keys[reg], others[reg]);
  }

  /// Bit `bit` of the coordinate along the axis.
  Condition coordinateBit(int reg, int bit) {
    const BitOwner owner = owners_[bit];
    if (owner.level == Level::Registers)
      return {((reg >> owner.bit) & 1) != 0, nullptr};
    llvm::Value *number = owner.level == Level::Lanes ? lowering_.laneId() : lowering_.warpId();
    return {false, builder_.CreateICmpNE(
                       builder_.CreateAnd(number, lowering_.i32(int64_t{1} << owner.bit)),
                       lowering_.i32(0))};
  }

  llvm::Value *smaller(llvm::Value *a, llvm::Value *b) {
    return builder_.CreateBinaryIntrinsic(
        isUnsigned_ ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a, b);
  }
  llvm::Value *larger(llvm::Value *a, llvm::Value *b) {
    return builder_.CreateBinaryIntrinsic(
        isUnsigned_ ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b);
  }

  /// Whether a key is in two registers. The smaller and the larger one are then two instructions to
  /// compare and two to choose each; one comparison tells both.
  static bool isLong(llvm::Value *key) { return key->getType()->getIntegerBitWidth() > 32; }

  llvm::Value *isLess(llvm::Value *a, llvm::Value *b) {
    return isUnsigned_ ? builder_.CreateICmpULT(a, b) : builder_.CreateICmpSLT(a, b);
  }
  /// Whether `a` is less than `b`, or, unless `condition` holds, is not.
  llvm::Value *isLess(llvm::Value *a, llvm::Value *b, llvm::Value *condition) {
    return builder_.CreateICmpEQ(isLess(a, b), condition);
  }

  llvm::Value *choose(const Condition &condition, llvm::Value *yes, llvm::Value *no) {
    if (condition.inThread)
      return builder_.CreateSelect(condition.inThread, yes, no);
    return condition.isTrue ? yes : no;
  }

  llvm::SmallVector<int> ownRegisters() const {
    llvm::SmallVector<int> registers;
    for (int reg = 0; reg < layout_.registerCount(); ++reg)
      if ((reg & free_.registers) == 0)
        registers.push_back(reg);
    return registers;
  }

  /// The keys of the threads whose lane or warp differs in a bit.
  Registers partners(const Registers &keys, BitOwner owner) {
    Registers others = keys;
    if (owner.level == Level::Lanes) {
      for (const int reg : ownRegisters())
        others[reg] = lowering_.shuffleXor(keys[reg], 1 << owner.bit);
    } else {
      readPartners(keys, owner.bit, others);
    }
    return others;
  }

  /// Orders each pair of elements whose coordinates differ in `bit`.
  void exchange(Registers &keys, int bit, std::optional<int> direction) {
    const BitOwner owner = owners_[bit];
    if (owner.level == Level::Registers) {
      for (const int reg : ownRegisters()) {
        const int partner = reg | (1 << owner.bit);
        if (partner == reg)
          continue;
        const Condition isUp = ascends(reg, direction);
        if (isLong(keys[reg])) {
          llvm::Value *own = keys[reg], *other = keys[partner];
          llvm::Value *swaps = isUp.inThread ? isLess(other, own, isUp.inThread)
                               : isUp.isTrue ? isLess(other, own)
                                             : isLess(own, other);
          keys[reg] = builder_.CreateSelect(swaps, other, own);
          keys[partner] = builder_.CreateSelect(swaps, own, other);
          continue;
        }
        llvm::Value *low = smaller(keys[reg], keys[partner]);
        llvm::Value *high = larger(keys[reg], keys[partner]);
        keys[reg] = choose(isUp, low, high);
        keys[partner] = choose(isUp, high, low);
      }
      return;
    }
    const Registers others = partners(keys, owner);
    const Condition isUpper = coordinateBit(0, bit);
    for (const int reg : ownRegisters()) {
      const Condition isUp = ascends(reg, direction);
      // The lower element of an ascending pair takes the smaller key, and so on.
      llvm::Value *takesLarger = isUpper.inThread;
      if (isUp.inThread)
        takesLarger = builder_.CreateICmpEQ(takesLarger, isUp.inThread);
      else if (!isUp.isTrue)
        takesLarger = builder_.CreateNot(takesLarger);
      if (isLong(keys[reg]))
        keys[reg] = builder_.CreateSelect(isLess(keys[reg], others[reg], takesLarger), others[reg],
                                          keys[reg]);
      else
        keys[reg] = builder_.CreateSelect(takesLarger, larger(keys[reg], others[reg]),
                                          smaller(keys[reg], others[reg]));
    }
  }

  /// The keys of the warp whose number differs in `bit`, some registers at a time.
  void readPartners(const Registers &keys, int bit, Registers &others) {
    const llvm::SmallVector<int> registers = ownRegisters();
    const int64_t threads = int64_t{32} * lowering_.numWarps();
    llvm::Type *type = keys[registers[0]]->getType();
    const int64_t bytes = type->getIntegerBitWidth() / 8;
    const auto most = static_cast<size_t>(
        std::min<int64_t>(std::max<int64_t>(1, 16384 / (threads * bytes)), registers.size()));
    if (memory_)
      lowering_.barrier();
    else
      memory_ = lowering_.scratch(static_cast<int64_t>(most) * threads * bytes);
    llvm::Value *own = builder_.CreateGEP(type, memory_, lowering_.threadId());
    llvm::Value *partner = builder_.CreateGEP(
        type, memory_, builder_.CreateXor(lowering_.threadId(), lowering_.i32(32 << bit)));
    for (size_t start = 0; start < registers.size(); start += most) {
      if (start != 0)
        lowering_.barrier();
      const size_t count = std::min(most, registers.size() - start);
      for (size_t i = 0; i < count; ++i)
        builder_.CreateStore(keys[registers[start + i]],
                             builder_.CreateGEP(type, own, lowering_.i32(i * threads)));
      lowering_.barrier();
      for (size_t i = 0; i < count; ++i)
        others[registers[start + i]] = builder_.CreateLoad(
            type, builder_.CreateGEP(type, partner, lowering_.i32(i * threads)));
    }
  }

  Lowering &lowering_;
  llvm::IRBuilder<> &builder_;
  LinearLayout layout_;
  InputBits free_;
  llvm::ArrayRef<BitOwner> owners_; ///< of the bits of the axis
  bool isUnsigned_, isDescending_;
  llvm::Value *memory_ = nullptr;
};

LogicalResult lowerSort(Lowering &lowering, Operation *op) {
  auto sort = cast<tl::SortOp>(op);
  const auto type = cast<RankedTensorType>(sort.getType());
  const ShapeBits shape(type.getShape());
  const int axis = shape.rank() - 1;
  const auto run = [&](const LinearLayout &layout, llvm::ArrayRef<Registers> operands) {
    Registers values = operands.front();
    Keys keys(lowering, type.getElementType(), sort.getIsUnsigned());
    for (llvm::Value *&value : values)
      value = keys.toKey(value);
    const llvm::SmallVector<BitOwner> owners = *ownersAlong(layout, shape, axis);
    BitonicSort network(lowering, layout, owners, keys.isUnsigned(), sort.getDescending());
    if (const int64_t needed = neededOfSort(sort); needed < type.getShape().back())
      network.keepFirst(values, static_cast<int>(llvm::Log2_64(needed)));
    else
      network.run(values);
    const uint32_t copies = freeBits(layout).registers;
    Registers results;
    for (size_t reg = 0; reg < values.size(); ++reg)
      results.push_back((reg & copies) == 0 ? keys.fromKey(values[reg]) : results[reg & ~copies]);
    return FailureOr(llvm::SmallVector<Registers>{results});
  };
  return lowerAlongAxis(
      lowering, op, axis,
      [&](const LinearLayout &layout) { return ownersAlong(layout, shape, axis).has_value(); },
      run);
}

} // namespace

int64_t neededOfSort(tl::SortOp sort) {
  const llvm::ArrayRef<int64_t> shape = sort.getType().getShape();
  int64_t needed = 0;
  llvm::SmallVector<Value> open{sort.getResult()};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tlg::ConvertLayoutOp>(user)) {
        open.push_back(user->getResult(0));
        continue;
      }
      auto gather = dyn_cast<tl::GatherOp>(user);
      if (!gather || static_cast<size_t>(gather.getAxis()) + 1 != shape.size())
        return shape.back();
      Operation *index = gather.getIndices().getDefiningOp();
      while (
          isa_and_nonnull<tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp, tlg::ConvertLayoutOp>(
              index))
        index = index->getOperand(0).getDefiningOp();
      auto range = dyn_cast_or_null<tl::RangeOp>(index);
      if (!range || range.getStart() != 0)
        return shape.back();
      needed = std::max<int64_t>(needed, range.getEnd());
    }
  return needed == 0 ? shape.back() : std::min<int64_t>(llvm::PowerOf2Ceil(needed), shape.back());
}

llvm::ArrayRef<LoweringRow> sortRows() {
  static constexpr LoweringRow kRows[] = {{"tl.sort", lowerSort}};
  return kRows;
}

} // namespace blockscope::gpu
