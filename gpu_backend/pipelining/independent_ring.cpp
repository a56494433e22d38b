// Two mbarriers for each slot, no CTA barrier.
#include "gpu_backend/pipelining/rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscope::gpu {

void IndependentRing::makeBarriers() {
  constexpr int kThreadsOfWarp = 32;
  filled_ = makeMbarriers((byTma() ? 1 : 0) + (byThreads() ? kThreadsOfWarp * warps() : 0));
  released_ = makeMbarriers(warps());
  if (byTma())
    makeFence();
  tl::BarrierOp::create(rewriter(), location());
}

void IndependentRing::endCopies(Value slot, const Existence &exists) {
  if (byThreads())
    tlg::AsyncArriveOp::create(rewriter(), location(), mbarrierOf(filled_, slot), anyCopy(exists));
}

void IndependentRing::waitForSlot(Value slot, Value parity) {
  tlg::MbarrierWaitOp::create(rewriter(), location(), mbarrierOf(filled_, slot), parity);
}

void IndependentRing::placeCopies() {
  Block *body = loop().getBody();
  rewriter().setInsertionPoint(body->getTerminator());
  Value released = mbarrierOf(released_, slot());
  tlg::MbarrierArriveOp::create(rewriter(), location(), released, IntegerAttr());
  // Beside the last dot, or where that is waited for early, behind all that is computed.
  Operation *last = released.getDefiningOp();
  if (!waitsEarly())
    for (auto wait : body->getOps<tlg::WgmmaWaitOp>())
      last = wait;
  rewriter().setInsertionPoint(last);
  waitForFree(slot(), parity());
}

/// Nothing has released the slot of the delayed dot's last iteration, or waited for the one before.
void IndependentRing::endRound(Value slot, Value parity) {
  tlg::MbarrierArriveOp::create(rewriter(), location(), mbarrierOf(released_, slot), IntegerAttr());
  waitForFree(slot, parity);
}

/// Waits until all warps have released the slot before this one.
void IndependentRing::waitForFree(Value slot, Value parity) {
  Value isFirst =
      arith::CmpIOp::create(rewriter(), location(), arith::CmpIPredicate::eq, slot, i32(0));
  Value other = arith::XOrIOp::create(rewriter(), location(), parity, i32(1));
  Value before = arith::SelectOp::create(rewriter(), location(), isFirst, other, parity);
  tlg::MbarrierWaitOp::create(rewriter(), location(), mbarrierOf(released_, slotBefore(slot)),
                              before);
  if (byTma() && isReadByThreads())
    tlg::FenceAsyncOp::create(rewriter(), location()); // TMA will write what they have read
}

} // namespace blockscope::gpu
