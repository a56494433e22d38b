// Operands of dots in shared memory.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/mma_layouts.h"
#include "gpu_backend/layout/shared_layout.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace blockscope::gpu {

/// The layout in shared memory for a tile that is contiguous along `dim`: with the widest swizzle
/// that ldmatrix, wgmma and TMA know, or row-major where the tile is too small for one. `dim` is K
/// where its order is not the plain one.
SharedLayout sharedForOperand(mlir::RankedTensorType type, int dim,
                              DepthOrder depth = DepthOrder::Plain);

/// Whether `value` is known to be positive zero, or a tile of it.
bool isKnownZero(mlir::Value value);

/// Whether a load gives something else than zeros where its mask is false.
bool hasOther(tl::LoadOp load);

/// The swizzle of a buffer of two dimensions that wgmma can read.
struct SwizzleMatch {
  int contiguousDim, swizzleBytes;
};
std::optional<SwizzleMatch> matchSwizzle(tlg::SharedType type,
                                         DepthOrder depth = DepthOrder::Plain);

/// On tlg.mma and tlg.wgmma: both operands have K in the order DepthOrder::Paired.
inline constexpr llvm::StringLiteral kPairedDepthAttribute = "tlg.paired_depth";
/// On tlg.mma: in the order DepthOrder::Eights.
inline constexpr llvm::StringLiteral kEightsDepthAttribute = "tlg.depth_in_eights";
DepthOrder depthOrderOf(mlir::Operation *dot);

/// How many columns of N one wgmma takes when `groups` warpgroups share them.
int64_t wgmmaColumns(int64_t n, int64_t groups);

/// So many sums of wgmma in a thread fill half of its registers: products that are added to them
/// have no place beside them (lowering/wgmma.cpp).
constexpr int kManyWgmmaSums = 128;

/// Gives `buffer`, where the data of `load` is in shared memory, to all users of the load: dots
/// read it there, for other ops it is read from there, and `other` put where the mask is false.
void replaceLoad(mlir::RewriterBase &rewriter, tl::LoadOp load, mlir::Value buffer);

/// Puts the operands that wgmma and dots without tensor cores read there into shared memory, and
/// large ones of mma.sync.
void stageOperands(mlir::func::FuncOp function);

} // namespace blockscope::gpu
