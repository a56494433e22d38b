// Divisions of many numbers by one, as multiplications by its inverse.
#pragma once

#include "llvm/IR/Function.h"

namespace blockscope::gpu {

/// Makes one multiplication, shifts and a sum of each quotient of 32-bit integers by a divisor that
/// enough others share, or that a loop does not change. ptxas, too, takes the inverse of a divisor
/// once, as a float, but then corrects each quotient, looks at both signs and at zero: 12 to 20
/// instructions.
///
/// Source: Granlund, Montgomery, "Division by invariant integers using multiplication", 1994,
/// figure 5.2.
void multiplyByInverses(llvm::Function &function);

/// Whether a function has enough quotients for that.
bool mayMultiplyByInverses(const llvm::Function &function);

} // namespace blockscope::gpu
