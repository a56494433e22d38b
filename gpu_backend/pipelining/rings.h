// The kinds of rings.
#pragma once

#include "gpu_backend/pipelining/loop_ring.h"

namespace blockscope::gpu {

/// Threads copy by cp.async. An iteration:
///   wait until this thread's copies for it have come; CTA barrier: those of all threads have, and
///   the buffer of the iteration before is free
///   begin the copies of iteration i + ahead; the iteration
/// Dots by wgmma may go on after their iteration: there the copies wait for those of the iteration
/// before, and at a second CTA barrier.
class CpAsyncRing : public LoopRing {
public:
  using LoopRing::LoopRing;

protected:
  void endCopies(Value slot, const Existence &exists) override;
  void waitForSlot(Value slot, Value parity) override;
  void placeCopies() override;
};

/// What rings with mbarriers have in common: the mbarrier of a slot tells when its bytes have come.
class MbarrierRing : public LoopRing {
public:
  using LoopRing::LoopRing;

protected:
  Value beginCopies(Value slot, const Existence &exists) override;
  bool hasParity() const override { return true; }

  Value filled_; ///< a ring of mbarriers
};

/// TMA copies, begun by one thread of a warp or more; other loads of the loop may be copied by all
/// threads. As CpAsyncRing, but an mbarrier for each slot tells that its bytes have come.
class TmaRing : public MbarrierRing {
public:
  using MbarrierRing::MbarrierRing;

protected:
  void makeBarriers() override;
  void endCopies(Value slot, const Existence &exists) override;
  void waitForSlot(Value slot, Value parity) override;
  void placeCopies() override;
  void endRound(Value slot, Value parity) override;
  /// One thread that begins many boxes would hold up its warp, and with it the next dot.
  bool copiesByWarps() const override { return true; }

private:
  tl::BarrierOp barrier_; ///< of the last wait
};

/// Warpgroups go through iterations independently: where they compute between dots (attention), a
/// CTA barrier in every iteration would make them multiply at the same time and compute at the same
/// time, and half of the chip would always be idle. They meet at mbarriers only:
///   wait until the slot of the iteration is filled
///   the iteration; before its last dot is waited for:
///     wait until all warps have released the slot of iteration i - 1; begin the copies into it
///   release the slot of the iteration
class IndependentRing : public MbarrierRing {
public:
  using MbarrierRing::MbarrierRing;

protected:
  void makeBarriers() override;
  void endCopies(Value slot, const Existence &exists) override;
  void waitForSlot(Value slot, Value parity) override;
  void placeCopies() override;
  void endRound(Value slot, Value parity) override;

private:
  void waitForFree(Value slot, Value parity);

  Value released_; ///< a ring of mbarriers
};

/// The CTAs of a cluster share copies: each begins a part of what all want, for all. TMA copies
/// only. As TmaRing, but CTAs meet at mbarriers: all warps of all CTAs have released a slot before
/// any CTA copies into it again. With four buffers copies go into the slot before the one that an
/// iteration releases: what the other CTAs say has an iteration's time to come.
class ClusterRing : public MbarrierRing {
public:
  using MbarrierRing::MbarrierRing;

protected:
  void makeBarriers() override;
  void meet() override;
  void finish() override;
  int ctas() const override { return ring().ctas; }
  void endCopies(Value slot, const Existence &exists) override {}
  void waitForSlot(Value slot, Value parity) override;
  void placeCopies() override;

private:
  Value released_; ///< a ring of mbarriers
};

} // namespace blockscope::gpu
