// How NaN and infinity go through ops: which results were born, and which an operand brought.
//
// The values themselves say most of it. A finite result brings nothing on, whatever went in. A NaN
// or an infinity has the origin of the operands that were one; where none was, or where infinities
// make a NaN, it was born here. Where one of them has no origin (the kernel's own -inf, what memory
// held) the result has none either: it would be there without the others.
#pragma once

#include "sanitizer/nan/births.h"
#include "sanitizer/undefined/rules.h"

namespace blockscope::sanitizer {

/// Sets the origins of an op's results. Not for ops of memory. Of results that are no floats:
/// integers that were made of a NaN or an infinity, and answers of comparisons with a NaN.
void followFloats(const OpValues &values, ShadowValues &shadows, BirthTable &births, Moves &moves);

} // namespace blockscope::sanitizer
