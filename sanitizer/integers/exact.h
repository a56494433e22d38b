// What elementwise ops would give in integers without end, beside what they give.
#pragma once

#include "sanitizer/integers/deviation.h"
#include "sanitizer/undefined/shadow_values.h"

namespace blockscope::sanitizer {

/// Which mistakes are looked for.
struct Wanted {
  bool wraps = false, arithmetic = false;
};

/// The elements of a value as integers of either sign, with their deviations.
class Integers {
public:
  Integers(const ValueView &view, const ShadowValues &shadows)
      : view_(view), shadow_(view, shadows) {}

  const Type &type() const { return *view_.type; }
  bool isOne() const { return view_.extent == ValueView::Extent::One; }
  OriginId deviation(int64_t i) const { return shadow_.origin(i); }
  bool isExact() const { return shadow_.isDefined(); }
  std::pair<int64_t, int64_t> range(int64_t count) const { return shadow_.range(count); }
  int64_t asSigned(int64_t i) const;
  uint64_t asUnsigned(int64_t i) const { return shadow_.value(i); }
  Wide as(bool isUnsigned, int64_t i) const {
    return isUnsigned ? static_cast<Wide>(asUnsigned(i)) : static_cast<Wide>(asSigned(i));
  }
  const ValueView &view() const { return view_; }

private:
  const ValueView &view_;
  ShadowedView shadow_;
};

/// Whether an elementwise op of integers may make a deviation of operands that have none: a fast
/// look at all elements.
bool mayDeviate(const OpValues &values, Wanted wanted);

/// Whether a cast of floats to integers has one that its type does not; results are not needed.
bool isOutOfRange(const OpValues &cast);

/// The deviations of an elementwise op's result.
Shadow followExactly(const OpValues &values, llvm::ArrayRef<Integers> operands,
                     Deviations &deviations, Wanted wanted, bool mayBeBorn);

/// The deviations of a sum (or product) along an axis.
Shadow followSum(const OpValues &values, const Integers &operand, Deviations &deviations);

} // namespace blockscope::sanitizer
