// The combine region of a reduction or scan as data, for observers that compute it in other types.
#pragma once

#include "interpreter/evaluator.h"

#include <cstdint>
#include <vector>

namespace blockscope::interpreter {

/// One op of a region. Values are numbered: those of the left side, those of the right side, then
/// the results of the ops in their order.
struct CombineOp {
  OpSignature signature; ///< of scalars, or of blocks with an element for each lane
  llvm::SmallVector<int32_t, 3> operands;
  uint64_t bits = 0; ///< of an "arith.constant"
};

/// A region of ops with one result each, without control flow.
struct CombineRegion {
  std::vector<CombineOp> ops;
  llvm::SmallVector<int32_t, 2> results; ///< the numbers of what it gives
};

} // namespace blockscope::interpreter
