// Conversions between floats, for every family that needs one.
#pragma once

#include "core/numeric/float_format.h"
#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

/// The registers of one thread converted from one float type to another: the bits that the CPU
/// gives, but for the sign and payload of a NaN.
///
/// Shapes: `from` and `to` are element types, or blocks of them.
Registers castFloats(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values, Type from, Type to,
                     numeric::Rounding rounding = numeric::Rounding::NearestEven);

/// True for the float types of 8 bits, whose registers are i8.
bool isFp8Type(Type type);

} // namespace blockscope::gpu
