// Which layout each block of a kernel shall have, before any code is changed.
//
// Accesses of memory get the layout that coalesces them, dots that of their instruction; from
// there layouts spread forwards to what is computed from them, then backwards to what they are
// computed from, last from blocks that repeat smaller ones, until every block that is not cheap has
// one. Cheap blocks (index arithmetic from ranges and scalars) have none: they are computed again
// in each layout that is asked for.
#pragma once

#include "gpu_backend/gpu_options.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/layout/linear_layout.h"
#include "gpu_backend/passes/axis_info.h"
#include "gpu_backend/passes/dot_layouts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace blockscope::gpu {

class LayoutChoice {
public:
  LayoutChoice(mlir::func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
               const GpuOptions &options);

  /// Whether `value` is computed again wherever it is wanted in another layout.
  bool isCheap(mlir::Value value) const;
  /// Whether `value`, of a loop, is computed again where it is wanted in `layout`: by few cheap ops
  /// from what is converted before the loop, once.
  bool isComputedAgain(mlir::Value value, const LinearLayout &layout) const;
  /// The layout of a block that is not cheap.
  const LinearLayout &of(mlir::Value value) const;
  /// The layout in which an access (load, store, atomic) is made.
  const LinearLayout &ofAccess(mlir::Operation *op) const;
  const DotLayouts &ofDot(mlir::Operation *op) const;
  /// A layout for a block that nothing asks more of.
  LinearLayout fallback(mlir::Value block) const;
  /// A layout for a cheap block, to combine its elements: one in which others want it, or want what
  /// it is made of, so that it is not computed twice.
  LinearLayout ofCheap(mlir::Value block) const;

private:
  bool computeCheap(mlir::Value value);
  bool isCheapIn(mlir::Operation *around, mlir::Value value, bool fromLoads) const;
  bool isPipelined(mlir::scf::ForOp loop) const;
  llvm::SmallVector<mlir::Value, 3> steppedPointers(mlir::Operation *access) const;
  bool followsUse(mlir::Operation *op) const;
  void relyOnNoStores(mlir::Operation *load) const;
  LinearLayout first(mlir::Value value) const;
  void anchor(mlir::func::FuncOp function);
  bool isFreeGather(mlir::Operation *op) const;
  bool isQuickIn(mlir::Operation *load, const LinearLayout &layout) const;
  bool isRepeatedIn(mlir::Operation *gather, const LinearLayout &layout) const;
  void spreadAddresses(llvm::ArrayRef<mlir::Operation *> accesses);
  void spreadSums(mlir::func::FuncOp function);
  bool spreadToVariables(mlir::Value value, const LinearLayout &layout,
                         llvm::DenseSet<mlir::Value> &seen);
  LinearLayout ofRepetitions(mlir::Operation *op, const LinearLayout &block) const;
  bool isExchangedWide(mlir::Value block, const LinearLayout &layout, size_t fewBits) const;
  llvm::SmallVector<int> orderOf(mlir::Value block) const;
  bool takesLayoutOfUse(mlir::Value value, const LinearLayout &layout) const;
  bool spreadForward(mlir::Operation *op);
  bool spreadBackward(mlir::Operation *op);
  bool tie(llvm::ArrayRef<mlir::Value> values);
  bool give(mlir::Value value, const std::optional<LinearLayout> &layout);
  bool isOpen(mlir::Value value) const;

  const AxisAnalysis &axes_;
  const GpuTarget &target_;
  const GpuOptions &options_;
  llvm::DenseMap<mlir::Value, bool> cheap_;
  llvm::DenseMap<mlir::Value, LinearLayout> layouts_;
  llvm::DenseMap<mlir::Operation *, LinearLayout> accesses_;
  llvm::SetVector<mlir::Operation *> gathers_; ///< loads that are as quick in any layout
  llvm::DenseMap<mlir::Operation *, LinearLayout>
      gathersAlone_;                             ///< the layouts that they would have
  llvm::SetVector<mlir::Operation *> followers_; ///< loads that take the layout of their use
  llvm::DenseSet<mlir::Value> steps_;            ///< their pointers, where a loop steps them
  llvm::DenseMap<mlir::Operation *, DotLayouts> dots_;
};

} // namespace blockscope::gpu
