// tlg.mma of scaled operands, by the block-scaled mma.sync.
#pragma once

#include "gpu_backend/lowering/lowering.h"

namespace blockscope::gpu {

void lowerScaledMma(Lowering &lowering, tlg::MmaOp op);

} // namespace blockscope::gpu
