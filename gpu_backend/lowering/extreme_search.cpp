// Extremes with their places, in a thread and in a warp.
#include "gpu_backend/lowering/extreme_search.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

namespace blockscope::gpu {

/// Whether elements that compare equal can differ: zeros of both signs, and NaNs.
bool ExtremeSearch::isOnlyInBits(llvm::Value *value) const {
  return needsValue_ && value->getType()->isFloatingPointTy();
}

llvm::Value *ExtremeSearch::better(llvm::Value *lhs, llvm::Value *rhs) {
  using namespace llvm::Intrinsic;
  const bool isLargest = extreme_.isLargest;
  if (!lhs->getType()->isFloatingPointTy())
    return lowering_.builder().CreateBinaryIntrinsic(
        extreme_.hasSignedValues ? (isLargest ? smax : smin) : (isLargest ? umax : umin), lhs, rhs);
  return lowering_.builder().CreateBinaryIntrinsic(
      extreme_.nanWins ? (isLargest ? maximum : minimum) : (isLargest ? maxnum : minnum), lhs, rhs);
}

llvm::Value *ExtremeSearch::betterPlace(llvm::Value *lhs, llvm::Value *rhs) {
  using namespace llvm::Intrinsic;
  const bool isLowest = extreme_.isLowestPlace;
  return lowering_.builder().CreateBinaryIntrinsic(
      extreme_.hasSignedPlaces ? (isLowest ? smin : smax) : (isLowest ? umin : umax), lhs, rhs);
}

/// A place that no other one loses against.
llvm::Value *ExtremeSearch::worstPlace(llvm::Type *type) {
  const unsigned width = type->getIntegerBitWidth();
  return llvm::ConstantInt::get(
      lowering_.context(), extreme_.hasSignedPlaces
                               ? (extreme_.isLowestPlace ? llvm::APInt::getSignedMaxValue(width)
                                                         : llvm::APInt::getSignedMinValue(width))
                               : (extreme_.isLowestPlace ? llvm::APInt::getMaxValue(width)
                                                         : llvm::APInt::getMinValue(width)));
}

/// Whether an element is one of the best. Where NaN loses, the best one may be NaN, if all are:
/// then this is false.
llvm::Value *ExtremeSearch::equals(llvm::Value *value, llvm::Value *best) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  if (!value->getType()->isFloatingPointTy())
    return builder.CreateICmpEQ(value, best);
  llvm::Value *isEqual = builder.CreateFCmpOEQ(value, best);
  return extreme_.nanWins ? builder.CreateOr(isEqual, builder.CreateFCmpUNO(value, value))
                          : isEqual;
}

/// The same, and true where the best one is NaN.
llvm::Value *ExtremeSearch::has(llvm::Value *value, llvm::Value *best) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  llvm::Value *isEqual = equals(value, best);
  if (!value->getType()->isFloatingPointTy() || extreme_.nanWins)
    return isEqual;
  return builder.CreateOr(isEqual, builder.CreateFCmpUNO(best, best));
}

Elements ExtremeSearch::inThread(llvm::ArrayRef<Elements> elements, llvm::ArrayRef<int64_t> steps,
                                 Combine &combine) {
  constexpr size_t kFew = 16;
  if (elements.size() <= kFew)
    return ofFew(elements, steps);
  const bool isInOrder = !steps.empty();
  Elements found =
      inThread(elements.drop_back(kFew), isInOrder ? steps.drop_back(kFew) : steps, combine);
  llvm::SmallVector<int64_t> last;
  for (const int64_t step : isInOrder ? steps.take_back(kFew) : steps)
    last.push_back(step - steps[steps.size() - kFew]);
  const Elements other = ofFew(elements.take_back(kFew), last);
  return isInOrder ? combine.inOrder(found, other) : combine(found, other);
}

/// `inThread` of elements that are looked at together.
Elements ExtremeSearch::ofFew(llvm::ArrayRef<Elements> elements, llvm::ArrayRef<int64_t> steps) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  if (elements.size() == 1)
    return elements.front();
  // Neighbours first, so that few instructions wait for one another.
  llvm::SmallVector<llvm::Value *> values;
  for (const Elements &element : elements)
    values.push_back(element[0]);
  for (; values.size() > 1; values.resize((values.size() + 1) / 2))
    for (size_t i = 0; i < values.size(); i += 2)
      values[i / 2] = i + 1 < values.size() ? better(values[i], values[i + 1]) : values[i];
  llvm::Value *best = values.front(), *place = nullptr, *bestValue = best;
  const auto stepOf = [&](size_t i) {
    return llvm::ConstantInt::get(elements[i][1]->getType(), static_cast<uint64_t>(steps[i]));
  };
  if (!steps.empty()) {
    // The place that is wanted comes last, and replaces what was found before. If all are NaN, it
    // is that of all.
    const auto inTurn = [&](size_t i) {
      return extreme_.isLowestPlace ? elements.size() - 1 - i : i;
    };
    const size_t wanted = inTurn(elements.size() - 1);
    place = stepOf(wanted);
    if (isOnlyInBits(best))
      bestValue = elements[wanted][0];
    for (size_t i = 0; i < elements.size(); ++i) {
      const Elements &element = elements[inTurn(i)];
      llvm::Value *isBest = equals(element[0], best);
      place = builder.CreateSelect(isBest, stepOf(inTurn(i)), place);
      if (isOnlyInBits(best))
        bestValue = builder.CreateSelect(isBest, element[0], bestValue);
    }
    return {bestValue, builder.CreateAdd(elements.front()[1], place)};
  }
  for (const Elements &element : elements) {
    llvm::Value *candidate =
        builder.CreateSelect(has(element[0], best), element[1], worstPlace(element[1]->getType()));
    place = place ? betterPlace(place, candidate) : candidate;
  }
  if (isOnlyInBits(best))
    for (const Elements &element : elements) {
      llvm::Value *isTaken =
          builder.CreateAnd(has(element[0], best), builder.CreateICmpEQ(element[1], place));
      bestValue = builder.CreateSelect(isTaken, element[0], bestValue);
    }
  return {bestValue, place};
}

llvm::Value *ExtremeSearch::betterPlaceInLanes(llvm::Value *place, uint32_t bits) {
  using namespace llvm::Intrinsic;
  if (bits == 31 && place->getType()->isIntegerTy(32)) {
    const bool isLowest = extreme_.isLowestPlace;
    const ID intrinsic = extreme_.hasSignedPlaces
                             ? (isLowest ? nvvm_redux_sync_min : nvvm_redux_sync_max)
                             : (isLowest ? nvvm_redux_sync_umin : nvvm_redux_sync_umax);
    return lowering_.builder().CreateIntrinsic(intrinsic, {}, {place, lowering_.i32(-1)});
  }
  for (uint32_t rest = bits; rest != 0; rest &= rest - 1)
    place = betterPlace(place, lowering_.shuffleXor(place, static_cast<int>(rest & -rest)));
  return place;
}

/// What the first lane where `isThere` holds has, of those that differ in `bits`.
llvm::Value *ExtremeSearch::valueOfLane(llvm::Value *isThere, llvm::Value *value, uint32_t bits) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  llvm::Value *lanes = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, {},
                                               {lowering_.i32(-1), isThere});
  if (bits != 31) {
    uint32_t others = 0; // the lanes of lane 0
    for (uint32_t lane = 0; lane < 32; ++lane)
      others |= (lane & ~bits) == 0 ? 1U << lane : 0;
    llvm::Value *first = builder.CreateAnd(lowering_.laneId(), lowering_.i32(31 & ~bits));
    lanes = builder.CreateAnd(lanes, builder.CreateShl(lowering_.i32(others), first));
  }
  return lowering_.shuffle(value, builder.CreateIntrinsic(llvm::Intrinsic::cttz, {lanes->getType()},
                                                          {lanes, builder.getTrue()}));
}

Elements ExtremeSearch::inLanes(const Elements &own, uint32_t bits) {
  llvm::IRBuilder<> &builder = lowering_.builder();
  llvm::Value *best = own[0];
  for (uint32_t rest = bits; rest != 0; rest &= rest - 1)
    best = better(best, lowering_.shuffleXor(best, static_cast<int>(rest & -rest)));
  llvm::Value *isBest = has(own[0], best);
  llvm::Value *place =
      betterPlaceInLanes(builder.CreateSelect(isBest, own[1], worstPlace(own[1]->getType())), bits);
  if (!isOnlyInBits(best))
    return {best, place};
  llvm::Value *isThere = builder.CreateAnd(isBest, builder.CreateICmpEQ(own[1], place));
  return {valueOfLane(isThere, own[0], bits), place};
}

} // namespace blockscope::gpu
