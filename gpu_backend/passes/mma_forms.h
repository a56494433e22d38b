// How a dot by mma.sync takes operands that are made of narrower elements.
#pragma once

#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/passes/axis_info.h"

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

struct MmaForm {
  MmaWarps warps;
  DepthOrder depth = DepthOrder::Plain; ///< in which both operands have K
  bool isTurned = false;                ///< as in `mmaLayouts`

  bool operator==(const MmaForm &other) const = default;
};

/// The form that takes the fewest instructions and the least of shared memory's time, of a dot of
/// 16-bit floats that makes an operand in its block of bytes, or of integers that are equal in runs
/// (the 4-bit weights of a word). Others, and those whose operands come another way than from
/// loads, keep `plain`. With `keepsRows` the warps stay as they are, and rows in their place.
MmaForm formOfNarrow(tl::DotOp dot, const MmaForm &plain, const AxisAnalysis &axes, bool keepsRows);

} // namespace blockscope::gpu
