// Writes a pipelined loop: what all kinds of rings have in common.
//
//   fill the ring for the first iterations
//   loop:
//     wait until the buffers of this iteration's slot are filled
//     the iteration, which reads them
//     somewhere in it: begin the copies of a later iteration, into the slot that is free
//
// A loop in a loop has a *round* in each iteration of the one around it. Where the plan says so,
// the ring is filled for the first round before the loop around it, and for the next round behind
// this one's iterations, before what follows them: rounds go through the ring as if they were one
// loop. The loop around has variables for the slot and for what those of the loop begin with.
//
// The pointers and masks of a later iteration come from a copy of the ops that compute them, run
// ahead on variables of their own (`ahead_`); where these need what another load gives, that one is
// done an iteration before (`addresses_`). Loads that cannot be copied may be done an iteration
// early too (`early_`). A kind of ring says how threads wait and where copies begin.
#pragma once

#include "gpu_backend/pipelining/loads_ahead.h"
#include "gpu_backend/pipelining/loop_slice.h"
#include "gpu_backend/pipelining/plan.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscope::gpu {

/// Whether there is an iteration, and the one before it, as i1 values; null is yes.
struct Existence {
  Value iteration, before;
};

/// One run of a loop, in an iteration of the loop around it.
struct Round {
  mlir::IRMapping outside; ///< what values from outside the loop are in it
  Value exists;            ///< as i1; null: it does
  Value slot;              ///< of its first iteration; null: 0
};

class LoopRing {
public:
  explicit LoopRing(const LoopPlan &plan);
  virtual ~LoopRing();
  LoopRing(const LoopRing &) = delete;
  LoopRing &operator=(const LoopRing &) = delete;

  /// Errors: fails, with an error at the loop, where the IR is not as planned.
  mlir::LogicalResult write();

protected:
  /// Makes what threads wait at, before the loop.
  virtual void makeBarriers() {}
  /// All threads that use the ring meet.
  virtual void meet() { tl::BarrierOp::create(rewriter_, location()); }
  /// Behind the loop, or the one around it where rounds go through the ring as one loop.
  virtual void finish() {}
  /// The CTAs that share the copies of loads that all of them want.
  virtual int ctas() const { return 1; }
  /// Around the copies into a slot. Returns the mbarrier that counts what TMA brings, or null.
  virtual Value beginCopies(Value slot, const Existence &exists) { return {}; }
  virtual void endCopies(Value slot, const Existence &exists) = 0;
  /// Waits until a slot is filled and all threads see it, in the iteration of `parity` (below).
  virtual void waitForSlot(Value slot, Value parity) = 0;
  /// Sets the insertion point to where an iteration begins copies, and makes sure that their slot,
  /// of the iteration before or an earlier one, is free there.
  virtual void placeCopies() = 0;
  /// Behind the delayed dot's last iteration, which has a slot of its own: makes sure that all
  /// slots but this one are free.
  virtual void endRound(Value slot, Value parity) {}
  /// Whether all warps are where copies by TMA begin, so that each can begin some of them.
  virtual bool copiesByWarps() const { return false; }
  /// Whether waits need the parity of how often the ring was gone through.
  virtual bool hasParity() const { return false; }

  // -- for the kinds of rings ---------------------------------------------------------------------
  mlir::IRRewriter &rewriter() { return rewriter_; }
  mlir::scf::ForOp loop() { return loop_; }
  mlir::Location location() { return loop_.getLoc(); }
  const RingPlan &ring() const { return ring_; }
  int ahead() const { return ring_.ahead; }
  int warps() const { return ring_.warps; }
  bool byThreads() const { return plan_.copies(CopyKind::CpAsync); }
  bool byTma() const { return plan_.copies(CopyKind::Tma); }
  /// Whether dots by wgmma read the buffers, in the loop's own block or in one inside it.
  bool hasWgmma() const { return hasWgmma_; }
  bool hasOwnWgmma() { return !loop_.getBody()->getOps<tlg::WgmmaOp>().empty(); }
  /// Whether the delayed dot is waited for before the exponentials of its iteration.
  bool waitsEarly() const { return plan_.delayedDot && plan_.delayedDot->exponential; }
  /// Whether threads read buffers, other than by dots.
  bool isReadByThreads() const { return isReadByThreads_; }
  Value constant(mlir::Type type, int64_t value);
  Value i32(int64_t value) { return constant(rewriter_.getI32Type(), value); }
  /// Has later copies by TMA see what threads have written: to the ring's buffers, and to the
  /// tensor that a copy reads where its argument is not known.
  void makeFence();
  /// Of all copies of an iteration: the bytes of those by TMA that are always there, and of the
  /// delayed dot's, which are for the iteration before.
  std::pair<int64_t, int64_t> tmaBytes() const;
  /// Whether there is any copy.
  Value anyCopy(const Existence &exists) const {
    return hasDelayed() ? exists.before : exists.iteration;
  }
  bool hasDelayed() const;
  /// The slot of this iteration, and the one before a slot.
  Value slot() { return slot_; }
  Value slotBefore(Value slot);
  Value parity() { return parity_; }
  /// A ring of mbarriers with a slot for each buffer, and the one of a slot.
  Value makeMbarriers(int arrivals);
  Value mbarrierOf(Value mbarriers, Value slot);
  /// Moves the insertion point behind the first dots, and, where dots go on after their iteration,
  /// behind a wait of each warp for those of the iteration before. Returns whether there is one.
  bool placeBehindDots();

private:
  struct Copy {
    tl::LoadOp load;
    const LoadPlan *plan;
    tlg::SharedType buffer;
    Value ring;
    tl::LoadOp after; ///< behind the loop, of the delayed dot's last iteration; or null
  };

  /// Whether dots by wgmma multiply what is loaded as it is: nothing is computed for them.
  bool multipliesLoads();
  mlir::LogicalResult findCopies();
  mlir::LogicalResult addAddress(const Copy &copy);
  mlir::LogicalResult findRounds();
  void allocate();
  llvm::SmallVector<Value> begin();
  void beginNextRound();
  void makeRound(Round &round, Value counter, mlir::ValueRange variables);
  llvm::SmallVector<Value> fill(const Round &round);
  void addVariables(mlir::ValueRange initial);
  mlir::Operation *beginOfIteration();
  void rewriteBody();
  void replaceLoads();
  void refillOneBuffers(mlir::IRMapping &mapping, const Existence &exists);
  void replaceOther();
  void readAfterLoop(Copy &copy);
  llvm::SmallVector<Value> makeCopies(Value counter, mlir::ValueRange ahead,
                                      mlir::IRMapping &mapping, Value slot, const Existence &exists,
                                      bool isBeforeLoop);
  Value stageOf(Copy &copy, Value slot);
  void makeCopy(Copy &copy, mlir::IRMapping &mapping, Value slot, Value mbarrier, Value predicate);
  void readEarlyLoads();
  void eraseUnused();
  Value nextSlot(Value slot);
  Value nextParity(Value slot, Value parity);
  Value stepped(Value slot, int last, Value otherwise, int step);
  /// The loop, or the one around it where rounds go through the ring as one loop.
  mlir::scf::ForOp whole() { return around_ ? around_ : loop_; }
  mlir::Operation *behindLoop();
  mlir::Operation *outermostOp();

  const LoopPlan &plan_;
  const RingPlan &ring_;
  mlir::scf::ForOp loop_;
  mlir::IRRewriter rewriter_;
  llvm::SmallVector<Copy, 2> copies_;   ///< in the order of the IR
  llvm::SmallVector<Value> oneBuffers_; ///< of this iteration, of those that are alone
  llvm::SmallVector<mlir::Operation *> earlyLoads_;
  LoopSlice slice_;
  llvm::SmallVector<Value> ahead_; ///< the slice's variables, iterations later
  LoadsAhead addresses_;           ///< what the slice needs
  LoadsAhead early_;               ///< what the iteration needs
  bool mayFillZeros_ = false;      ///< copies for no iteration may write zeros
  bool fillsZeros_ = false;        ///< some do
  mlir::scf::ForOp around_;        ///< if copies begin in the round before theirs; or null
  LoopSlice roundSlice_;           ///< what their first iterations need of it
  LoopSlice nextSlice_;            ///< what the next round finds in the variables for that
  unsigned firstOfRounds_ = 0;     ///< of its variables
  Value slot_, parity_;
  bool hasWgmma_ = false, isReadByThreads_ = false;
  unsigned firstNew_ = 0; ///< of the loop's variables
};

} // namespace blockscope::gpu
