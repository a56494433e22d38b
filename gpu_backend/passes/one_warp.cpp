// By the ops that are known to keep each warp to itself.
#include "gpu_backend/passes/one_warp.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether other warps only have copies of the elements.
bool isCopiedToWarps(Type type) {
  if (!tlg::hasLayout(type))
    return true;
  const LinearLayout layout = tlg::layoutOf(type);
  return llvm::all_of(layout.warps, [](ElementBits basis) { return basis == 0; });
}

/// Whether each bit of a register's or a lane's number moves along one dimension, and no two of
/// them move the same.
bool hasBitEach(const LinearLayout &layout) {
  ElementBits seen = 0;
  for (const Bases &bases : {layout.registers, layout.lanes})
    for (const ElementBits basis : bases) {
      if ((basis & (basis - 1)) != 0 || (basis & seen) != 0)
        return false;
      seen |= basis;
    }
  return true;
}

bool staysInWarps(Operation *op) {
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return true;
  if (auto reduce = dyn_cast<tl::ReduceOp>(op)) {
    // Else its lowering takes another layout, or converts what comes out.
    const auto type = cast<RankedTensorType>(reduce.getOperand(0).getType());
    const LinearLayout layout = tlg::layoutOf(type);
    const ShapeBits shape(type.getShape());
    const auto axis = static_cast<int>(reduce.getAxis());
    return hasBitEach(layout) && llvm::all_of(reduce.getResultTypes(), [&](Type result) {
             return !tlg::hasLayout(result) || tlg::layoutOf(result) == sliced(layout, shape, axis);
           });
  }
  if (auto scan = dyn_cast<tl::ScanOp>(op)) {
    const LinearLayout layout = tlg::layoutOf(scan.getOperand(0).getType());
    return hasBitEach(layout) && llvm::all_of(scan.getResultTypes(), [&](Type result) {
             return tlg::layoutOf(result) == layout;
           });
  }
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp, func::ReturnOp,
             tl::ProgramIdOp, tl::NumProgramsOp, tl::RangeOp, tl::SplatOp, tl::UnsplatOp,
             tl::ExpandDimsOp, tl::BroadcastOp, tl::ReshapeOp, tl::TransOp, tl::JoinOp, tl::SplitOp,
             tl::FpCastOp, tl::FloatToIntOp, tl::IntToFloatOp, tl::BitcastOp, tl::IntToPtrOp,
             tl::PtrToIntOp, tl::AddPtrOp, tl::MulhiUIOp, tl::MulhiSIOp, tl::ClampOp,
             tl::ExternElementwiseOp, tl::LoadOp, tl::StoreOp, tl::AssumeOp, tl::HintOp,
             tl::YieldOp>(op);
}

} // namespace

bool isOfOneWarp(func::FuncOp function) {
  const WalkResult walked = function.getBody().walk([](Operation *op) {
    const bool isLocal = staysInWarps(op) && llvm::all_of(op->getOperandTypes(), isCopiedToWarps) &&
                         llvm::all_of(op->getResultTypes(), isCopiedToWarps);
    return isLocal ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

} // namespace blockscope::gpu
