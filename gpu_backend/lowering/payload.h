// Floats as integers, in LLVM IR: core/numeric/payload.h.
#pragma once

#include "core/numeric/payload.h"

#include "mlir/IR/Types.h"
#include "llvm/IR/IRBuilder.h"

namespace blockscope::gpu {

/// Returns the payload of a float, or of its bits: an integer of as many bits.
llvm::Value *embedFloat(llvm::IRBuilder<> &builder, llvm::Value *value,
                        const numeric::Payload &rule);
/// Returns the float of a payload as a value of `type`.
llvm::Value *unembedFloat(llvm::IRBuilder<> &builder, llvm::Value *payload,
                          const numeric::Payload &rule, llvm::Type *type);
/// Returns the rule of fp16, bf16, fp32 and fp64.
numeric::Payload payloadRuleOf(llvm::Type *type);
/// Returns the rule of a float type of the IR, or of a block's elements.
numeric::Payload payloadRuleOf(mlir::Type type);

} // namespace blockscope::gpu
