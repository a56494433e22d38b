// The layouts in which loads, stores and atomics of blocks reach memory with the fewest
// instructions and sectors, before anything is known of what is around them.
#pragma once

#include "gpu_backend/gpu_options.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/linear_layout.h"
#include "gpu_backend/passes/axis_info.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace blockscope::gpu {

/// The layout of each access of a block, in the order of the kernel. `isCheap` says of a block
/// whether it is computed again in each layout that is asked for.
llvm::MapVector<mlir::Operation *, LinearLayout>
accessLayouts(mlir::func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
              const GpuOptions &options, llvm::function_ref<bool(mlir::Value)> isCheap);

} // namespace blockscope::gpu
