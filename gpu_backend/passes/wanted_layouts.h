// What comes from shared memory can be read in any layout.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscope::gpu {

/// Where what is computed elementwise from blocks in shared memory is converted and not used
/// otherwise, reads these blocks in the layout that is wanted in the end. Small blocks that are
/// repeated in between are made in it too.
void readInWantedLayouts(mlir::func::FuncOp function);

/// The same for one conversion, whose result has no more elements a thread than its source. Returns
/// whether it is gone.
bool readInWantedLayout(tlg::ConvertLayoutOp conversion);

} // namespace blockscope::gpu
