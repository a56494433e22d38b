// The layouts of a product: of its accumulator, and of its operands in registers.
#pragma once

#include "gpu_backend/compile.h"
#include "gpu_backend/layout/linear_layout.h"

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

enum class DotKind {
  Fma, ///< each thread multiplies what it holds
  Mma, ///< mma.sync of a warp
};

struct DotLayouts {
  DotKind kind = DotKind::Fma;
  LinearLayout a, b, accumulator;
};

/// The layouts for `dot` on `target`: of the tensor cores where they take its types and shape.
DotLayouts chooseDotLayouts(tl::DotOp dot, const GpuTarget &target, int numWarps);

} // namespace blockscope::gpu
