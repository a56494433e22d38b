// Which values of a function can be tiles (flat/tile.h).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace blockscope::interpreter::flat {

class TileAnalysis {
public:
  /// Finds the carried values of loops that stay affine. Others are decided op by op.
  void run(mlir::func::FuncOp function);

  bool isCarriedTile(mlir::Value argument) const { return carried_.contains(argument); }
  /// Whether a tile op makes the result of `op`, given which operands are tiles and which uniform.
  bool makesTile(mlir::Operation &op, llvm::function_ref<bool(mlir::Value)> isTile,
                 llvm::function_ref<bool(mlir::Value)> isUniform) const;

private:
  bool isTile(mlir::Value value);
  /// Bit per dimension along which a value may change.
  uint32_t varying(mlir::Value value) const;

  llvm::DenseSet<mlir::Value> carried_;
  llvm::DenseMap<mlir::Value, bool> known_;
};

} // namespace blockscope::interpreter::flat
