// What elementwise ops cost a warp, and scans and reductions by the layout of what they combine.
#pragma once

#include "gpu_backend/layout/linear_layout.h"

#include "core/ir/tl_dialect.h"

#include "llvm/ADT/SetVector.h"

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

/// The scans and reductions of blocks of one layout: of `block`, of what is computed from it
/// element by element, and of what takes part in that.
/// The ops that compute element by element go into `elementwise`, if that is asked for.
llvm::SmallSetVector<mlir::Operation *, 8>
combinedLike(mlir::Value block, llvm::SmallSetVector<mlir::Operation *, 16> *elementwise = nullptr);

bool hasScan(llvm::ArrayRef<mlir::Operation *> combining);

/// What scans and reductions cost a warp if what they combine has `layout`.
int64_t costOfCombining(llvm::ArrayRef<mlir::Operation *> combining, const LinearLayout &layout);

} // namespace blockscope::gpu
