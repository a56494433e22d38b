// Software pipelining as a plan: which loads of which loops are begun iterations before their data
// is used, and how. It is made without a change of the IR, printed as text (tests/lit/gpu/plan*),
// and then written into the IR by `writePipelines`.
//
// The data of such a load comes through a *ring*: buffers in shared memory that the iterations use
// one after another. The number of a buffer in its ring is its *slot*.
#pragma once

#include "gpu_backend/gpu_target.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/pipelining/delayed_dot.h"
#include "gpu_backend/pipelining/load_reason.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace blockscope::gpu {

/// What a kernel or a loop asks for.
struct PipelineOptions {
  int numStages = 3;        ///< of loops that do not ask for stages themselves (tl.num_stages)
  bool extraBuffers = true; ///< rings may have a buffer more than stages
  /// A loop's rings take no more: they have fewer buffers, or the loop stays as it is.
  std::optional<int64_t> ringBytes;
  bool oneBuffer = false; ///< loads that may have one buffer (LoadPlan::hasOneBuffer) do
};

/// How the data of a load comes to its iteration.
enum class CopyKind {
  InIteration, ///< the load stays where it is
  Registers,   ///< it is loaded an iteration early, into variables of the loop
  CpAsync,     ///< each thread begins to copy its part into a ring
  Tma,         ///< one thread begins to copy all of it into a ring
};

struct LoadPlan {
  mlir::Operation *load = nullptr;
  CopyKind copy = CopyKind::InIteration;
  bool feedsDot = false;  ///< an operand of a dot is computed from it in the iteration
  bool isDelayed = false; ///< its data is used one iteration later, by the delayed dot
  /// Copies need what it gives to know what they copy: it is loaded for them, too, so many
  /// iterations early; 0: they do not.
  int addressAhead = 0;
  // Where it stays:
  LoadReason why = LoadReason::None;
  mlir::Operation *because = nullptr; ///< StoredTo, MemoryOrder: the op that writes or orders
  int pieceBytes = 0;                 ///< Narrow: what one instruction loads
  // Where it is begun early:
  int ring = -1;          ///< its number among the loop's
  tlg::SharedType buffer; ///< of one iteration
  /// It has one buffer in a ring of two: threads read all of it into registers, and begin the next
  /// iteration's copy behind a CTA barrier there.
  bool hasOneBuffer = false;

  bool isCopied() const { return copy == CopyKind::CpAsync || copy == CopyKind::Tma; }
};

/// How the threads of a program agree on the buffers of a ring.
enum class RingSync {
  /// Threads wait for their own copies; a CTA barrier tells that all have come, and that the buffer
  /// of the iteration before is free.
  CtaBarrier,
  /// An mbarrier for each slot tells that the buffer is filled, a CTA barrier that the one of the
  /// iteration before is free.
  FilledMbarriers,
  /// Two mbarriers for each slot tell that the buffer is filled (by the producers) and that it is
  /// released (by the consumers, one arrival of each warp). No CTA barrier: a warpgroup may be most
  /// of an iteration ahead of another.
  FilledAndReleasedMbarriers,
  /// The same, where the CTAs of a cluster share copies by TMA: the warps of all release a buffer.
  ClusterMbarriers,
};

/// Why a ring has more buffers than stages were asked for.
enum class ExtraBuffer {
  None,
  IndependentWarpgroups, ///< with two buffers no warpgroup can be ahead of another
  FewerWaits,            ///< no CTA is lost by it, and threads that copy, or CTAs, wait less
};

/// Buffers of loads that are begun and used together.
struct RingPlan {
  int buffers = 0; ///< of each load
  int ahead = 0;   ///< the copies of iteration i + ahead begin in iteration i
  ExtraBuffer extra = ExtraBuffer::None;
  RingSync sync = RingSync::CtaBarrier;
  int warps = 0; ///< of a CTA that release a buffer, where mbarriers tell of it
  int ctas = 1;  ///< ClusterMbarriers: those that share copies
};

/// Why the first copies of a round, which a loop has in each iteration of the loop around it, begin
/// only when the round does, behind all that follows the round before.
enum class RoundReason {
  None,        ///< they begin in the round before
  Around,      ///< what is directly around the loop is no loop with a known step
  StoredTo,    ///< the loop around may write what they load
  MemoryOrder, ///< the loop around has ops by which programs learn what others wrote
  Address,     ///< what says where they load cannot be computed before the round
  TensorMap,   ///< the loop around makes the tensor map
};

struct RoundPlan {
  RoundReason why = RoundReason::None;
  mlir::Operation *because = nullptr; ///< StoredTo, MemoryOrder
};

struct LoopPlan {
  mlir::Operation *loop = nullptr;
  int stages = 0;                    ///< asked for
  LoadReason why = LoadReason::None; ///< of the whole loop: nothing more is looked at
  std::vector<LoadPlan> loads;       ///< those of the loop's own block, in order
  std::vector<RingPlan> rings;       ///< none or one today
  std::optional<DelayedDot> delayedDot;
  std::optional<RoundPlan> rounds; ///< of a pipelined loop in a loop
  /// Pairs of arguments that must not overlap in memory for this to be right.
  std::vector<std::pair<unsigned, unsigned>> disjoint;

  bool isPipelined() const { return !rings.empty(); }
  /// Whether it has no ring, and all the same loads that are done an iteration early.
  bool loadsEarly() const { return !isPipelined() && copies(CopyKind::Registers); }
  bool beginsRoundsEarly() const { return rounds && rounds->why == RoundReason::None; }
  int64_t ringBytes() const; ///< of shared memory, without mbarriers
  bool copies(CopyKind kind) const;
};

/// A ring that may have fewer buffers where that lets more CTAs run.
struct SpareRing {
  int64_t iterationBytes = 0; ///< of one buffer of each load; 0: there is no such ring
  int buffers = 0;
  int wgmmas = 0; ///< that read it in an iteration

  /// Whether an iteration has so much to compute that copies begun one iteration ahead come in
  /// time.
  bool isLong() const;
};

struct PipelinePlan {
  std::vector<LoopPlan> loops; ///< inner ones before those around them

  bool hasExtraBuffers() const;
  bool loadsEarly() const;       ///< in some loop, without a ring
  int64_t mostRingBytes() const; ///< of the loop whose rings take most
  /// How many bytes that loop would take less with PipelineOptions::oneBuffer.
  int64_t oneBufferBytes() const;
  /// That loop's ring, if it can do with fewer buffers: it has more than two. Not where wgmma reads
  /// it and the loop goes over tiles, or is in one that does: as many CTAs are launched as the
  /// author had in mind.
  SpareRing spareRing() const;

private:
  const LoopPlan *loopOfMostBytes() const; ///< or null
};

/// Plans all loops of a kernel whose tiles have layouts.
PipelinePlan planPipelines(mlir::func::FuncOp function, const GpuTarget &target,
                           const PipelineOptions &options);

/// Returns the plan as text: a line for each loop, and below it one for its ring and for each load.
std::string text(const PipelinePlan &plan);

/// Returns why a load stays in its iteration, as half a sentence: "the load is volatile".
std::string reasonText(const LoopPlan &loop, const LoadPlan &load);

/// Returns why the first copies of a loop's rounds begin with them, as half a sentence.
std::string reasonText(const RoundPlan &rounds);

/// Writes the plan into the IR that it was made of.
///
/// Errors: fails with an error at the loop where the IR is not as planned.
mlir::LogicalResult writePipelines(mlir::func::FuncOp function, const PipelinePlan &plan);

} // namespace blockscope::gpu
