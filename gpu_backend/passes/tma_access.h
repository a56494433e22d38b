// Loads and stores that TMA can do.
#pragma once

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/rectangular_tile.h"

#include "core/ir/tl_dialect.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace blockscope::gpu {

/// An access by TMA: the rectangle, and the buffer in shared memory that it goes to or comes from.
struct TmaAccess {
  RectangularTile tile;
  tlg::SharedType buffer;
  int ctas = 1; ///< that each copy a part of it to all of them
};

/// Whether so many CTAs can share the copies of an access.
bool canShareCopies(const TmaAccess &access, int ctas);

/// The attribute of accesses that TMA can do: a unit for loads; for stores a bool, whether
/// something may look at what was written before the kernel ends.
inline constexpr llvm::StringLiteral kTmaAttribute = "tlg.tma";

/// The unit attribute of a tlg.tma_load: all warps are there, and each may begin some of the boxes.
inline constexpr llvm::StringLiteral kByWarpsAttribute = "tlg.by_warps";

/// The access as a copy by TMA, if findTmaAccesses found it.
std::optional<TmaAccess> tmaAccess(tl::LoadOp load);
std::optional<TmaAccess> tmaAccess(tl::StoreOp store);

/// The tensor map of an access: the number of one that the launch encodes, or what a
/// tlg.make_tensor_map in the kernel gives.
struct TensorMapUse {
  uint32_t number = 0;
  mlir::Value made;
};

/// Adds the access's tensor map to those of the function: that it is launched with, or that it
/// makes, as early as all of the tensor is known.
TensorMapUse addTensorMap(mlir::func::FuncOp function, const TmaAccess &access);

/// The i32 scalars where the tile begins, from its starts by way of `now`; far outside of the
/// tensor where its condition does not hold, or the tensor is empty.
llvm::SmallVector<mlir::Value> makeStarts(mlir::OpBuilder &builder, mlir::Location location,
                                          const RectangularTile &tile,
                                          llvm::function_ref<mlir::Value(mlir::Value)> now);

} // namespace blockscope::gpu
