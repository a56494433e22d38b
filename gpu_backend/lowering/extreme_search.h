// The largest or smallest value with its place, found in two steps: the value alone, then which of
// the elements has it. Both are plain maxima and minima, of which a GPU has instructions, where
// comparing pairs takes five and more.
#pragma once

#include "gpu_backend/lowering/combine.h"
#include "gpu_backend/passes/extremes.h"

namespace blockscope::gpu {

class ExtremeSearch {
public:
  /// `needsValue`: whether the value that is found is used, to the last bit: of zeros that compare
  /// equal the one at the place.
  ExtremeSearch(Lowering &lowering, const Extreme &extreme, bool needsValue)
      : lowering_(lowering), extreme_(extreme), needsValue_(needsValue) {}

  /// The element that is taken of a thread's `elements`. Where their places grow, `steps` says how
  /// far each lies behind that of the first one; else it is empty. Of many elements a few are
  /// looked at together, so that those that are loaded need not all be held, and `combine` joins
  /// what is found.
  Elements inThread(llvm::ArrayRef<Elements> elements, llvm::ArrayRef<int64_t> steps,
                    Combine &combine);
  /// The one that is taken of two, in any order.
  Elements ofTwo(const Elements &lhs, const Elements &rhs) { return ofFew({lhs, rhs}, {}); }
  /// The one that is taken of the lanes that differ in `bits`, the same in all of them.
  Elements inLanes(const Elements &own, uint32_t bits);

private:
  Elements ofFew(llvm::ArrayRef<Elements> elements, llvm::ArrayRef<int64_t> steps);
  llvm::Value *better(llvm::Value *lhs, llvm::Value *rhs);
  llvm::Value *betterPlace(llvm::Value *lhs, llvm::Value *rhs);
  llvm::Value *equals(llvm::Value *value, llvm::Value *best);
  llvm::Value *has(llvm::Value *value, llvm::Value *best);
  llvm::Value *worstPlace(llvm::Type *type);
  llvm::Value *betterPlaceInLanes(llvm::Value *place, uint32_t bits);
  llvm::Value *valueOfLane(llvm::Value *isThere, llvm::Value *value, uint32_t bits);
  bool isOnlyInBits(llvm::Value *value) const;

  Lowering &lowering_;
  Extreme extreme_;
  bool needsValue_;
};

} // namespace blockscope::gpu
