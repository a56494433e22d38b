// Copies by TMA, perhaps beside copies by all threads; an mbarrier for each slot, CTA barriers.
#include "gpu_backend/pipelining/rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscope::gpu {

/// Tells the mbarrier of a slot how many bytes will come.
Value MbarrierRing::beginCopies(Value slot, const Existence &exists) {
  if (!byTma())
    return {};
  const auto [always, delayed] = tmaBytes();
  Value bytes = i32(always + delayed);
  // For the iteration before the mbarrier is waited for even where only other copies are for it.
  if (hasDelayed() && always != 0 && exists.iteration)
    bytes = arith::SelectOp::create(rewriter(), location(), exists.iteration, bytes, i32(delayed));
  Value mbarrier = mbarrierOf(filled_, slot);
  tlg::MbarrierExpectOp::create(rewriter(), location(), mbarrier, bytes, anyCopy(exists));
  return mbarrier;
}

void TmaRing::makeBarriers() {
  filled_ = makeMbarriers(/*arrivals=*/1);
  makeFence();
  tl::BarrierOp::create(rewriter(), location());
}

void TmaRing::endCopies(Value, const Existence &) {
  if (byThreads())
    tlg::AsyncCommitOp::create(rewriter(), location());
}

void TmaRing::waitForSlot(Value slot, Value parity) {
  tlg::MbarrierWaitOp::create(rewriter(), location(), mbarrierOf(filled_, slot), parity);
  if (byThreads())
    tlg::AsyncWaitOp::create(rewriter(), location(), ahead() - 1);
  if (!hasWgmma()) // TMA will write what threads have read
    tlg::FenceAsyncOp::create(rewriter(), location());
  barrier_ = tl::BarrierOp::create(rewriter(), location());
}

void TmaRing::placeCopies() {
  if (hasWgmma() && isReadByThreads()) { // TMA will write what they have read
    const OpBuilder::InsertionGuard guard(rewriter());
    rewriter().setInsertionPoint(barrier_);
    tlg::FenceAsyncOp::create(rewriter(), location());
  }
  // Where copies wait for the dots of the iteration before, and at a barrier, they need no other.
  if (!hasOwnWgmma() || !placeBehindDots())
    return;
  tl::BarrierOp::create(rewriter(), location());
  if (!byThreads())
    rewriter().eraseOp(barrier_);
}

void TmaRing::endRound(Value, Value) {
  if (!isReadByThreads())
    return; // the last wait has a barrier
  tlg::FenceAsyncOp::create(rewriter(), location());
  tl::BarrierOp::create(rewriter(), location());
}

} // namespace blockscope::gpu
