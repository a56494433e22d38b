// The attribute `input_precision` of dots.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace blockscope {

/// What follows the precision of a dot whose floats stand for integers: operands are made as wide
/// as sums by their sign, and multiplied and added modulo 2^bits (docs/algebra.md).
inline constexpr llvm::StringLiteral kOfPayloads = "+payloads";

inline bool isOfPayloads(llvm::StringRef precision) { return precision.ends_with(kOfPayloads); }

/// The precision with which the floats themselves would be multiplied.
inline llvm::StringRef precisionOfFloats(llvm::StringRef precision) {
  precision.consume_back(kOfPayloads);
  return precision;
}

} // namespace blockscope
