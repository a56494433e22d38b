// Sums and products along an axis, added up exactly.
#include "sanitizer/integers/exact.h"
#include "sanitizer/rows.h"

#include "interpreter/evaluator.h"

namespace blockscope::sanitizer {
namespace {

/// What the elements of a row come to, one after another.
class Total {
public:
  Total(const Integers &operand, Deviations &deviations, bool isProduct, bool isUnsigned)
      : operand_(operand), deviations_(deviations), isProduct_(isProduct), isUnsigned_(isUnsigned),
        exact_(isProduct ? 1 : 0) {}

  void add(int64_t i) {
    const OriginId id = operand_.deviation(i);
    const Deviation *deviation = deviations_.find(id);
    if (deviation && (from_ == kDefined || !deviation->isModular))
      from_ = id;
    isModular_ |= deviation && deviation->isModular;
    isKnown_ &= !deviation || deviation->isExact;
    const Wide element = deviation ? deviation->exact : operand_.as(isUnsigned_, i);
    isKnown_ &= !(isProduct_ ? __builtin_mul_overflow(exact_, element, &exact_)
                             : __builtin_add_overflow(exact_, element, &exact_));
  }

  OriginId result(const OpInfo &op, const Integers &results, int64_t at) {
    const Wide kept = results.as(isUnsigned_, at);
    if ((isKnown_ && exact_ == kept) || (from_ != kDefined && isModular_))
      return kDefined;
    if (from_ != kDefined)
      return isKnown_ ? deviations_.withExact(from_, exact_, false) : deviations_.unknown(from_);
    Deviation made;
    made.birth = {isUnsigned_ ? Mistake::UnsignedWrap : Mistake::SignedWrap, &op, at};
    made.birth.exact = made.exact = exact_;
    made.birth.kept = kept;
    made.isModular = isUnsigned_;
    made.isExact = isKnown_;
    return deviations_.add(made);
  }

private:
  const Integers &operand_;
  Deviations &deviations_;
  bool isProduct_, isUnsigned_;
  Wide exact_;
  OriginId from_ = kDefined;
  bool isModular_ = false, isKnown_ = true;
};

} // namespace

Shadow followSum(const OpValues &values, const Integers &operand, Deviations &deviations) {
  const Attributes &attributes = values.signature->attributes;
  const Rows rows(operand.type(), static_cast<size_t>(attributes.getInt("axis")));
  const bool isScan = values.signature->name == "tl.scan";
  const bool isReversed = attributes.getBool("reverse");
  const ShadowValues none;
  const Integers results(values.results.front(), none);
  Shadow shadow = Shadow::of(0, isScan ? rows.count * rows.length : rows.count);
  for (int64_t row = 0; row < rows.count; ++row) {
    Total total(operand, deviations, attributes.getString("combine") == "arith.muli",
                values.op->isUnsigned);
    for (int64_t step = 0; step < rows.length; ++step) {
      const int64_t i = rows.at(row, isReversed ? rows.length - 1 - step : step);
      total.add(i);
      if (isScan)
        shadow.origin(i) = total.result(*values.op, results, i);
    }
    if (!isScan)
      shadow.origin(row) = total.result(*values.op, results, row);
  }
  return shadow;
}

} // namespace blockscope::sanitizer
