// Whether the order of the two elements of a combine region makes a difference.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Region.h"

namespace blockscope::gpu {

/// Whether a combine region, on (lhs..., rhs...), is known to give the same when the two elements
/// change places, but where it compares a NaN (such functions are not associative either) and for
/// the signs of zeros that compare equal. Also when it gives the same on real numbers, as Welford's
/// mean and variance do: floats then differ by rounding, as sums do.
bool commutes(mlir::Region &region);

/// Whether it gives the same to the bit: it compares nothing, and multiplies no floats, whose
/// products may become part of the addition of one side.
bool commutesToTheBit(mlir::Region &region);

/// What a comparison, arith.cmpi or arith.cmpf, gives for operands in this order; neither less nor
/// equal: greater.
bool comparisonGives(mlir::Operation &compare, bool isLess, bool isEqual);

/// The second half of `commutes`: whether the region's block gives the same for many random
/// elements in both orders, floats but for rounding. False where an op of it is not known.
bool commutesOnNumbers(mlir::Block &block);

/// Whether it gives the same for many elements that `operands` of a reduction can have, and for
/// what it makes of such. False also where an op of it is not known.
bool commutesOnOperands(mlir::Block &block, mlir::ValueRange operands);

/// Marks the reductions of the block IR whose combine functions commute only on what their operands
/// can have (`tlg.any_order`), while it is to be seen where these come from.
void markReductionsInAnyOrder(mlir::func::FuncOp function);

} // namespace blockscope::gpu
