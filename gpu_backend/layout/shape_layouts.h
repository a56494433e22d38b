// The layouts across ops that change a block's shape, chosen so that no element leaves its thread.
//
// tl.reshape and tl.expand_dims keep every element's number, so both sides have the same layout.
// For the other ops there is a function for each direction. Register numbers follow simple rules,
// said at each function; `sourceRegisters` with the op's element map gives them for any other pair.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

namespace blockscope::gpu {

/// The layout of what is left of `shape` when dimension `dim` is removed, as by a reduction: the
/// bits of `dim` are dropped, lanes and warps along it become copies. Registers that became
/// copies are removed; `slicedRegisters` tells which register goes where.
LinearLayout sliced(const LinearLayout &layout, const ShapeBits &shape, int dim);

/// The element map of `sliced`: for each bit of an element of `shape` its bits without `dim`.
Bases slicedElements(const ShapeBits &shape, int dim);

/// For each register of `layout` the register of `sliced(layout, shape, dim)` into which it is
/// reduced.
llvm::SmallVector<uint32_t> slicedRegisters(const LinearLayout &layout, const ShapeBits &shape,
                                            int dim);

/// The layout of a broadcast's result for its operand's: the new elements are further registers, so
/// result register r is operand register r modulo the operand's number of registers.
///
/// Shapes: equal ranks; where the sizes differ the operand's is 1.
LinearLayout broadcasted(const LinearLayout &operand, const ShapeBits &operandShape,
                         const ShapeBits &resultShape);

/// The layout of a broadcast's operand for its result's, without register copies; the registers are
/// `sourceRegisters(result, operand, broadcastElements(...))`.
LinearLayout broadcastOperand(const LinearLayout &result, const ShapeBits &operandShape,
                              const ShapeBits &resultShape);

/// The element map of a broadcast: for each bit of a result element the operand element's bits.
Bases broadcastElements(const ShapeBits &operandShape, const ShapeBits &resultShape);

/// The layout of tl.trans's result, whose dimension i is dimension `permutation[i]` of `shape`;
/// registers keep their numbers. The other direction is the inverse permutation.
LinearLayout transposed(const LinearLayout &operand, const ShapeBits &shape,
                        llvm::ArrayRef<int> permutation);

/// The element map of `transposed` from operand bits to result bits.
Bases transposedElements(const ShapeBits &shape, llvm::ArrayRef<int> permutation);

/// The layout of tl.join's result, with a new last dimension of size 2: result register 2r + i is
/// register r of operand i. It is also the layout that tl.split wants of its operand when its
/// results shall have the layout `operand`.
LinearLayout joined(const LinearLayout &operand);

/// The layout of tl.split's results for an operand whose last dimension has size 2, without
/// register copies: threads that have one half each of several pairs shall have both halves of
/// fewer. The op is local when the operand has the layout `joined(split(operand))`;
/// convert to that first.
LinearLayout split(const LinearLayout &operand);

} // namespace blockscope::gpu
