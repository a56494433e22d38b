// What reductions and scans share: the block seen as [outer, length, inner] around the axis.
#pragma once

#include "interpreter/evaluator.h"
#include "interpreter/simd/kernels.h"

#include <optional>

namespace blockscope::interpreter {

struct AxisSplit {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
  int axis = 0;
};
AxisSplit splitAtAxis(llvm::ArrayRef<int64_t> shape, int axis);

/// [outer, length, inner] -> [length, outer, inner], and back.
void axisToFront(const AxisSplit &split, int elementBytes, const void *in, void *out);
void axisFromFront(const AxisSplit &split, int elementBytes, const void *in, void *out);

/// Returns the op of a combine that is one op ("arith.addf").
std::optional<ElementOp> combineOpByName(llvm::StringRef name);

} // namespace blockscope::interpreter
