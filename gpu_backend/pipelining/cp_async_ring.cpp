// Copies by all threads, CTA barriers.
#include "gpu_backend/pipelining/rings.h"

namespace blockscope::gpu {

void CpAsyncRing::endCopies(Value, const Existence &) {
  tlg::AsyncCommitOp::create(rewriter(), location());
}

void CpAsyncRing::waitForSlot(Value, Value) {
  tlg::AsyncWaitOp::create(rewriter(), location(), ahead() - 1);
  tl::BarrierOp::create(rewriter(), location());
}

void CpAsyncRing::placeCopies() {
  if (hasOwnWgmma() && placeBehindDots())
    tl::BarrierOp::create(rewriter(), location());
}

} // namespace blockscope::gpu
