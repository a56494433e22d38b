// Two mbarriers for each slot, as IndependentRing has them, but released by all CTAs of the
// cluster.
#include "gpu_backend/pipelining/rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscope::gpu {

void ClusterRing::makeBarriers() {
  filled_ = makeMbarriers(/*arrivals=*/1);
  released_ = makeMbarriers(warps() * ctas());
  makeFence();
  meet();
}

void ClusterRing::meet() { tlg::ClusterBarrierOp::create(rewriter(), location()); }

/// No CTA ends, or uses the mbarriers' memory, while another one may still arrive there.
void ClusterRing::finish() { meet(); }

void ClusterRing::waitForSlot(Value slot, Value parity) {
  tlg::MbarrierWaitOp::create(rewriter(), location(), mbarrierOf(filled_, slot), parity,
                              /*of_cluster=*/false);
  if (!hasWgmma()) // TMA will write what threads have read
    tlg::FenceAsyncOp::create(rewriter(), location());
}

/// Each warp releases the slot of the iteration before as soon as it has read it, in the first
/// iteration one that nobody has used; so a slot's phases are those of its iterations.
void ClusterRing::placeCopies() {
  if (hasOwnWgmma())
    placeBehindDots();
  if (hasWgmma() && isReadByThreads())
    tlg::FenceAsyncOp::create(rewriter(), location());
  Value free = slotBefore(slot()), phase = parity();
  tlg::MbarrierArriveOp::create(rewriter(), location(), mbarrierOf(released_, free),
                                rewriter().getI32IntegerAttr(ctas()));
  if (ring().buffers - ahead() > 1) { // what the iteration before has released
    Value isFirst =
        arith::CmpIOp::create(rewriter(), location(), arith::CmpIPredicate::eq, slot(), i32(0));
    Value other = arith::XOrIOp::create(rewriter(), location(), phase, i32(1));
    phase = arith::SelectOp::create(rewriter(), location(), isFirst, other, phase);
    free = slotBefore(free);
  }
  tlg::MbarrierWaitOp::create(rewriter(), location(), mbarrierOf(released_, free), phase,
                              /*of_cluster=*/true);
}

} // namespace blockscope::gpu
