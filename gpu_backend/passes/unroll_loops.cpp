// Loops of which several iterations become one, as their authors ask, and short ones as a whole.
//
// It comes before layouts and rings, so that a ring's stage is one of the new iterations, and what
// all iterations of a short loop compute can have a layout of its own.
#include "gpu_backend/passes/passes.h"

#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"

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

/// Whether each thread loads so few numbers in all iterations of a loop, which are known, and does
/// so little else, that all of it is better one piece of code: coordinates, of which a loop over
/// dimensions makes an offset. What LLVM unrolls later has its layouts as in a loop.
bool isShort(scf::ForOp loop, int64_t threads) {
  constexpr int64_t kMostTrips = 8, kMostLoads = 16, kMostOps = 256;
  const std::optional<llvm::APInt> count = loop.getStaticTripCount();
  if (!count || count->sle(1) || count->sgt(kMostTrips) || loop->hasAttr(tl::kNumStagesHint))
    return false;
  int64_t loads = 0, ops = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    ++ops;
    auto load = dyn_cast<tl::LoadOp>(op);
    if (load ? load.getIsVolatile() : op.getNumRegions() != 0 || !isPure(&op))
      return false;
    int64_t most = 1; // elements of a thread
    for (Value result : op.getResults())
      if (auto block = dyn_cast<RankedTensorType>(result.getType()))
        most = std::max(most, block.getNumElements() / threads);
    if (most > kMostLoads)
      return false;
    loads += load ? most : 0;
  }
  const int64_t trips = count->getSExtValue();
  return loads != 0 && trips * loads <= kMostLoads && trips * ops <= kMostOps;
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
  llvm::SmallPtrSet<Operation *, 4> asWritten;
  function.walk([&](scf::ForOp loop) {
    if (auto factor = loop->getAttrOfType<IntegerAttr>(tl::kUnrollHint)) {
      loop->removeAttr(tl::kUnrollHint);
      asWritten.insert(loop);
      if (factor.getInt() > 1)
        loops.emplace_back(loop, factor.getInt());
    }
  });
  for (const auto [loop, factor] : loops)
    unroll(loop, factor);
  auto warps =
      function->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute);
  llvm::SmallVector<scf::ForOp> shortLoops;
  function.walk([&](scf::ForOp loop) {
    if (!asWritten.contains(loop) && warps && isShort(loop, 32 * warps.getInt()))
      shortLoops.push_back(loop);
  });
  for (scf::ForOp loop : shortLoops)
    (void)loopUnrollFull(loop);
  if (!loops.empty() || !shortLoops.empty())
    foldConstants(function);
}

} // namespace blockscope::gpu
