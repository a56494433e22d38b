// The 8-bit float formats as integer arithmetic on bits, for what the target has no instruction.
//
// The same steps as numeric::encode and numeric::decode, as LLVM IR without intrinsics: so a test
// runs them on the CPU, over all values, against those two.
#pragma once

#include "core/numeric/float_format.h"

#include "llvm/IR/IRBuilder.h"

namespace blockscope::gpu {

/// Returns the encoding nearest to a float in the sense of `rounding`: overflow and infinity give
/// the largest finite value, NaN gives NaN.
///
/// Shapes: an fp32 value; the result is an i8. The format has 8 bits and a bias of at most 16.
llvm::Value *encodeFp8(llvm::IRBuilderBase &builder, llvm::Value *value,
                       const numeric::FloatFormat &format, numeric::Rounding rounding);
/// Returns the value of an encoding, an i8, as fp32; exact.
llvm::Value *decodeFp8(llvm::IRBuilderBase &builder, llvm::Value *encoding,
                       const numeric::FloatFormat &format);

/// fp8e4b15 from an fp16 value; `sign` is that of the value before it was cut to fp16, an i1.
llvm::Value *encodeE4M3B15(llvm::IRBuilderBase &builder, llvm::Value *half, llvm::Value *sign,
                           numeric::Rounding rounding);
/// Returns the fp16 value of a fp8e4b15 encoding; exact.
llvm::Value *decodeE4M3B15(llvm::IRBuilderBase &builder, llvm::Value *encoding);
/// Returns the fp16 value of a fp8e5 encoding, which is its upper byte.
llvm::Value *decodeE5M2(llvm::IRBuilderBase &builder, llvm::Value *encoding);

/// Cuts fp64 to fp32, given as `cut` (rounded toward zero), so that rounding the result to at most
/// 22 significant bits is as good as rounding `value`: where bits were lost, the last one is set.
llvm::Value *roundToOdd(llvm::IRBuilderBase &builder, llvm::Value *cut, llvm::Value *isInexact);

} // namespace blockscope::gpu
