// Ops of combine functions on numbers: floats as float64, integers exactly.
#pragma once

#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>

namespace blockscope::gpu {

/// A value: the number of a float, or the low bits of an integer.
struct Number {
  double real = 0;
  uint64_t bits = 0;
};

/// The bits of an integer type, or of a block's elements.
unsigned widthOf(mlir::Type type);

/// The low `width` bits.
uint64_t lowBits(uint64_t bits, unsigned width);

/// What an op without regions, of one result, gives for `operands`; elementwise where these are
/// those of an element.
///
/// Errors: nothing where the op is not known here.
std::optional<Number> evaluated(mlir::Operation &op, llvm::ArrayRef<Number> operands);

} // namespace blockscope::gpu
