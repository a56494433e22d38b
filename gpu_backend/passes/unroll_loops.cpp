// Loops of which several iterations become one, as their authors ask.
//
// It comes before layouts and rings, so that a ring's stage is one of the new iterations.
#include "gpu_backend/passes/passes.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

void unroll(scf::ForOp loop, uint64_t factor) {
  OpBuilder builder(loop);
  const Location where = loop.getLoc();
  // The count of iterations is taken as unsigned: a loop that ends before it begins has none.
  if (!loop.getStaticTripCount())
    loop.setUpperBound(
        arith::MaxSIOp::create(builder, where, loop.getLowerBound(), loop.getUpperBound()));
  const FailureOr<UnrolledLoopInfo> loops = loopUnrollByFactor(loop, factor);
  if (succeeded(loops) && loops->epilogueLoopOp)
    (*loops->epilogueLoopOp)->setAttr(tl::kNumStagesHint, builder.getI32IntegerAttr(1));
}

/// Steps and distances of iterations are made as products of constants. What asks whether a loop
/// counts up, or what divides its variable, looks for constants.
void foldConstants(func::FuncOp function) {
  OperationFolder folder(function.getContext());
  llvm::SmallVector<Operation *> sums;
  function.walk([&](Operation *op) {
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
        op->getResult(0).getType().isIntOrIndex())
      sums.push_back(op);
  });
  for (Operation *op : sums)
    (void)folder.tryToFold(op);
}

} // namespace

void unrollLoops(func::FuncOp function) {
  // Inner loops first: what is unrolled outside of them has them unrolled.
  llvm::SmallVector<std::pair<scf::ForOp, uint64_t>> loops;
  function.walk([&](scf::ForOp loop) {
    if (auto factor = loop->getAttrOfType<IntegerAttr>(tl::kUnrollHint)) {
      loop->removeAttr(tl::kUnrollHint);
      if (factor.getInt() > 1)
        loops.emplace_back(loop, factor.getInt());
    }
  });
  for (const auto [loop, factor] : loops)
    unroll(loop, factor);
  if (!loops.empty())
    foldConstants(function);
}

} // namespace blockscope::gpu
