// An op computed in float64, whatever its types.
//
// Both CPU modes choose an evaluator by the types of an op; here the same op is chosen again with
// float64 in the place of every float. So each rule of an op stays where it is.
#pragma once

#include "interpreter/combine_region.h"
#include "interpreter/evaluator.h"
#include "sanitizer/observation.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace blockscope::sanitizer {

/// One operand: elements in float64 of a float, else the elements of the event as they are.
struct WideOperand {
  const std::vector<double> *floats = nullptr;
  const void *others = nullptr;
};

class WideOp {
public:
  enum class Form : uint8_t {
    Unknown,     ///< cannot be computed in float64
    Same,        ///< the elements of operand 0
    Elementwise, ///< an evaluator over elements
    Block,       ///< an evaluator over whole blocks
    Combine,     ///< a reduction or scan by a region
    Picks,       ///< each result element is one of the operand's row, and which one its value says
  };

  static WideOp of(const OpSignature &signature, const CombineRegion *region);

  Form form() const { return form_; }
  /// Whether results are elements of the operands, or their negatives: nothing is rounded.
  bool isMove() const { return isMove_; }
  /// Gives the elements of each float result; others are left empty.
  std::vector<std::vector<double>> run(const OpValues &values,
                                       llvm::ArrayRef<WideOperand> operands) const;

private:
  Form form_ = Form::Unknown;
  bool isMove_ = false;
  bool useRegion(const CombineRegion &region);
  void combineAlongAxis(llvm::ArrayRef<void *> results,
                        llvm::ArrayRef<const void *> operands) const;
  void combine(int64_t n, void *const *out, const void *const *lhs, const void *const *rhs) const;

  OpSignature signature_;
  Evaluator evaluator_;
  /// The region, its types those of here, and how each op computes; none of constants and copies.
  CombineRegion region_;
  std::vector<Evaluator> evaluators_;
};

/// Those of a launch, by the signature of the op.
class WideOps {
public:
  /// Valid until the next call. Signatures of reductions and scans are made anew for each event of
  /// step mode, so these ops are not kept.
  const WideOp &of(const OpValues &values);
  void clear() { ops_.clear(); }

private:
  llvm::DenseMap<const OpSignature *, std::unique_ptr<WideOp>> ops_;
};

} // namespace blockscope::sanitizer
