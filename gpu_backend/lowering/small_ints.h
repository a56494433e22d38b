// Small integers as floats without the converting instruction, which the hardware does for 16
// elements a cycle: they are put into the mantissa of a power of two, which is then subtracted.
#pragma once

#include "gpu_backend/lowering/lowering.h"

#include <optional>

namespace blockscope::gpu {

/// Integers of 8 bits, or such that are known to be small enough for the mantissa of `to` (fp16,
/// bf16 or fp32), exactly; nothing for others.
std::optional<Registers> smallIntsToFloats(Lowering &lowering, llvm::ArrayRef<llvm::Value *> values,
                                           llvm::Type *to, bool isUnsigned);

} // namespace blockscope::gpu
