// What passes ask of blocks, of the ops that access them, and of the loops around these.
#pragma once

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <algorithm>

namespace blockscope::gpu {

inline bool isBlock(mlir::Value value) {
  return mlir::isa<mlir::RankedTensorType>(value.getType());
}

inline mlir::RankedTensorType blockType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// The pointer operand of an access of a block (load, store, atomic), or null.
inline mlir::Value accessedPointer(mlir::Operation *op) {
  if ((mlir::isa<tl::LoadOp, tl::StoreOp>(op) || tl::isAtomic(op)) && isBlock(op->getOperand(0)))
    return op->getOperand(0);
  return {};
}

/// What an access of a block reads or writes.
inline mlir::Value accessedData(mlir::Operation *op) {
  return op->getNumResults() != 0 ? op->getResult(0) : op->getOperand(1);
}

/// Gives `spread` each op of `function`, from the first to the last or the other way round, but not
/// the ops in the regions of reductions, scans and maps, which take layouts of their own. Returns
/// whether it has changed anything.
inline bool spreadOver(mlir::func::FuncOp function, bool backward,
                       llvm::function_ref<bool(mlir::Operation *)> spread) {
  llvm::SmallVector<mlir::Operation *> ops;
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (op != function)
      ops.push_back(op);
    return mlir::isa<tl::MapOp, tl::ReduceOp, tl::ScanOp>(op) ? mlir::WalkResult::skip()
                                                              : mlir::WalkResult::advance();
  });
  if (backward)
    std::reverse(ops.begin(), ops.end());
  bool changed = false;
  for (mlir::Operation *op : ops)
    changed |= spread(op);
  return changed;
}

/// How often a loop is taken to run where costs are compared: what it runs is not known.
constexpr int64_t kSupposedTrips = 8;

/// How many loops are around an op.
inline int loopDepth(mlir::Operation *op) {
  int depth = 0;
  for (mlir::Operation *outer = op->getParentOp(); outer; outer = outer->getParentOp())
    depth += mlir::isa<mlir::LoopLikeOpInterface>(outer) ? 1 : 0;
  return depth;
}

/// How often an op is supposed to run, by the loops around it.
inline int64_t timesRun(mlir::Operation *op) {
  int64_t times = 1;
  for (int depth = loopDepth(op); depth > 0; --depth)
    times *= kSupposedTrips;
  return times;
}

} // namespace blockscope::gpu
