// What elementwise ops cost a warp, and scans and reductions by the layout of what they combine.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include "core/ir/tl_dialect.h"

namespace blockscope::gpu {

/// Quarters of a wavefront, as ConversionPlan::cost.
///
/// Source: CUDA C++ Programming Guide, "Arithmetic Instructions", throughput on 8.x and 9.0.
constexpr int64_t kSimpleCost = 1, kWavefrontCost = 4, kShuffleCost = 5, kSelectCost = 2,
                  kBlockBarrierCost = 120;

/// What a warp takes for one element of an elementwise op.
int64_t elementCost(mlir::Operation *op);

/// One application of the combine function of a reduction or scan.
int64_t combineCost(mlir::Operation *op);

/// What a scan costs a warp if what is scanned has `layout`.
int64_t scanCost(tl::ScanOp scan, const LinearLayout &layout);

/// The same of a reduction.
int64_t reductionCost(tl::ReduceOp reduce, const LinearLayout &layout);

} // namespace blockscope::gpu
