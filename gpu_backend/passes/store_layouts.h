// Whether a store takes its value as it lies in threads, or has it moved to where a warp fills
// lines of memory.
#pragma once

#include "core/ir/tl_dialect.h"
#include "gpu_backend/gpu_options.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/linear_layout.h"
#include "gpu_backend/passes/axis_info.h"

namespace blockscope::gpu {

/// The layout in which a store of a block is made whose value has the layout `own`: that one if it
/// is as wide as what memory allows, and touches not many more sectors, or if its lanes fill lines
/// together; else one by rows.
LinearLayout storeLayout(tl::StoreOp store, const LinearLayout &own, const AxisAnalysis &axes,
                         const GpuTarget &target, const GpuOptions &options);

} // namespace blockscope::gpu
