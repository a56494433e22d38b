// Attributes with options of loops and functions, beside those that tl_dialect.h has.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace blockscope::tl {

/// Unit attributes of a loop: what does not change in it stays in it; wishes without an effect.
inline constexpr llvm::StringLiteral kDisableLicmHint = "tl.disable_licm";
inline constexpr llvm::StringLiteral kFlattenHint = "tl.flatten";
inline constexpr llvm::StringLiteral kWarpSpecializeHint = "tl.warp_specialize";
/// Of a function: calls of functions that were to stay calls, as an array of named locations.
inline constexpr llvm::StringLiteral kInlinedCalls = "tl.inlined_calls";

} // namespace blockscope::tl
