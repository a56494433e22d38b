// Looks at each loop and each of its loads; nothing is written.
#include "gpu_backend/pipelining/plan.h"

#include "core/ir/facts.h"
#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/tma_access.h"
#include "gpu_backend/pipelining/async_copy.h"
#include "gpu_backend/pipelining/loads_ahead.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

#include <climits>

using namespace mlir;

namespace blockscope::gpu {
namespace {

constexpr int kWarpsOfGroup = 4;
constexpr unsigned kAccumulator = 2; // the operand of dots that is not loaded for them
/// What a loop with dots needs besides their blocks: addresses, numbers of rows.
constexpr int kRegistersOfRest = 16;
constexpr int64_t kBarrierBytes = 8;
/// An iteration whose dots read so much takes about a microsecond, as long as a copy from memory.
constexpr int64_t kBytesOfLongIteration = 32 << 10;

bool isDot(Operation *op) { return isa<tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(op); }

/// Where a ring of `buffers` ends that comes behind `usedBytes` of shared memory.
int64_t endOfRing(int64_t usedBytes, tlg::SharedType buffer, int64_t buffers) {
  const SharedLayout layout = tlg::sharedLayoutOf(buffer);
  return static_cast<int64_t>(llvm::alignTo(usedBytes, layout.alignmentBytes())) +
         buffers * layout.sizeBytes();
}

int buffersOf(const LoadPlan &load, const RingPlan &ring) {
  return load.hasOneBuffer ? 1 : ring.buffers;
}

/// Whether a dot multiplies `value` as it is, perhaps transposed, reshaped or in another layout.
bool isMultipliedAsIs(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    return isDot(user) ? use.getOperandNumber() != kAccumulator
                       : isa<tlg::ConvertLayoutOp, tl::TransOp, tl::ReshapeOp>(user) &&
                             isMultipliedAsIs(user->getResult(0));
  });
}

/// Whether a load's copies may begin only behind what reads them in the iteration before: threads
/// do, at once. A dot would hold them up for as long as it takes.
bool mayHaveOneBuffer(const LoadPlan &load, const RingPlan &ring) {
  return load.copy == CopyKind::CpAsync && !load.isDelayed && ring.sync == RingSync::CtaBarrier &&
         ring.buffers == 2 && !isMultipliedAsIs(load.load->getResult(0)) &&
         llvm::all_of(load.load->getUsers(),
                      [&](Operation *user) { return user->getBlock() == load.load->getBlock(); });
}

/// Registers of 32 bits that a thread needs for a block.
int64_t registersOf(Type block) {
  return int64_t{tlg::layoutOf(block).registerCount()} * tlg::elementBytes(block) / 4;
}

/// Whether `value` goes, by way of other ops of its block, into an operand of a dot there. What
/// goes into the first operand of a delayed dot is used an iteration later.
bool feedsDot(Value value, const std::optional<DelayedDot> &delayed) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    const Value current = open.pop_back_val();
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (isDot(user)) {
        const bool isLater = delayed && user == delayed->second && use.getOperandNumber() == 0;
        if (use.getOperandNumber() != kAccumulator && !isLater)
          return true;
        continue;
      }
      if (user->getBlock() == value.getParentBlock() && isPure(user) && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  }
  return false;
}

/// Whether `value` goes, by way of other ops of its block, into a dot there in any way: into what a
/// delayed dot multiplies later, or what a dot's sums begin with.
bool isUsedWithDots(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isDot(user))
        return true;
      if (user->getBlock() == value.getParentBlock() && isPure(user) && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  return false;
}

/// What says where a load reads, by iteration; nothing if that cannot be computed ahead.
std::optional<LoopSlice> addressOf(scf::ForOp loop, tl::LoadOp load,
                                   const std::optional<TmaAccess> &tma) {
  LoopSlice slice;
  const bool isKnown = tma ? (!tma->tile.condition || slice.add(loop, tma->tile.condition)) &&
                                 llvm::all_of(tma->tile.dims,
                                              [&](const RectangularTile::Dim &dim) {
                                                return !dim.start || slice.add(loop, dim.start);
                                              })
                           : slice.add(loop, load.getPointer()) &&
                                 (!load.getMask() || slice.add(loop, load.getMask()));
  return isKnown ? std::optional(slice) : std::nullopt;
}

class LoopPlanner {
public:
  LoopPlanner(scf::ForOp loop, const GpuTarget &target, const PipelineOptions &options)
      : loop_(loop), writes_(loop), target_(target), options_(options) {
    const auto asked = loop->getAttrOfType<IntegerAttr>(tl::kNumStagesHint);
    asksForStages_ = asked != nullptr;
    plan_.loop = loop;
    plan_.stages = asked ? static_cast<int>(asked.getInt()) : options.numStages;
  }

  /// `usedBytes` of shared memory are taken by others, `hasLoopInside` that is pipelined.
  LoopPlan run(int64_t usedBytes, bool hasLoopInside) {
    if (plan_.stages < 2)
      plan_.why = LoadReason::OneStage;
    else if (loop_.getUnsignedCmp())
      plan_.why = LoadReason::Unsigned;
    else if (hasLoopInside)
      plan_.why = LoadReason::LoopInside;
    else if (writes_.isEmpty()) // what is stored would keep the delayed dot's operands in registers
      planDelayedDot();
    for (auto load : loop_.getBody()->getOps<tl::LoadOp>())
      plan_.loads.push_back(planLoad(load));
    if (plan_.copies(CopyKind::CpAsync) || plan_.copies(CopyKind::Tma))
      planAddresses();
    if (mostBuffers() < 2)
      leaveLoads();
    if (plan_.copies(CopyKind::CpAsync) || plan_.copies(CopyKind::Tma)) {
      plan_.rings.push_back(planRing(usedBytes));
      for (LoadPlan &load : plan_.loads)
        load.hasOneBuffer = options_.oneBuffer && mayHaveOneBuffer(load, plan_.rings.front());
      noteAddresses(plan_.rings.front().ahead);
      for (LoadPlan &load : plan_.loads)
        planRegisters(load);
      planRounds();
    } else {
      plan_.delayedDot.reset();
      if (plan_.why == LoadReason::None && (isRecurrence() || isLongIteration()))
        planRecurrence();
      else if (plan_.why == LoadReason::None)
        planOperands();
    }
    return std::move(plan_);
  }

private:
  /// Beside the next iteration's first dot the second one's operand stays in registers, too. Where
  /// they do not suffice each iteration would store and load some of them.
  void planDelayedDot() {
    plan_.delayedDot = matchDelayedDot(loop_);
    if (!plan_.delayedDot)
      return;
    tlg::WgmmaOp first = plan_.delayedDot->first, second = plan_.delayedDot->second;
    const int64_t needed = registersOf(first.getType()) + registersOf(second.getType()) +
                           registersOf(second.getA().getType());
    const int warps = tlg::layoutOf(second.getType()).warpCount();
    if (needed + kRegistersOfRest > target_.registersPerThread(warps))
      plan_.delayedDot.reset();
  }

  LoadPlan planLoad(tl::LoadOp load) {
    LoadPlan plan;
    plan.load = load;
    plan.feedsDot = feedsDot(load.getResult(), plan_.delayedDot);
    plan.isDelayed = plan_.delayedDot && plan_.delayedDot->load == load;
    plan.why = plan_.why;
    if (plan.why == LoadReason::None)
      planCopy(load, plan);
    return plan;
  }

  void planCopy(tl::LoadOp load, LoadPlan &plan) {
    // Rows of a few numbers come through registers (planRegisters).
    const bool isTileBesideDots =
        elementsOfThread(load) > kMostBesideDots && isUsedWithDots(load.getResult());
    if (!plan.feedsDot && !isTileBesideDots && !asksForStages_) {
      plan.why = LoadReason::NoDot;
      return;
    }
    if (!writes_.canMove(load.getPointer())) {
      plan.because = writes_.firstWrite(load.getPointer());
      plan.why = plan.because ? LoadReason::StoredTo : LoadReason::MemoryOrder;
      if (!plan.because)
        plan.because = writes_.firstOrder();
      return;
    }
    std::optional<TmaAccess> tma = tmaAccess(load);
    if (plan.isDelayed && tma && tma->tile.condition)
      tma.reset(); // TMA knows one condition, and there will be another one
    const AsyncCopy copy =
        tma ? AsyncCopy{tma->buffer} : asyncCopyOf(load, /*withOther=*/!plan.feedsDot);
    plan.why = copy.why;
    plan.pieceBytes = copy.pieceBytes;
    if (copy.buffer && !target_.hasCpAsync)
      plan.why = LoadReason::NoAsyncCopy;
    if (plan.why != LoadReason::None)
      return;
    std::optional<LoopSlice> address = addressOf(loop_, load, tma);
    if (!address || !canLoadAhead(*address)) {
      plan.why = LoadReason::Address;
      return;
    }
    requireDisjointIn(*address);
    addresses_.push_back(std::move(*address));
    plan.copy = tma ? CopyKind::Tma : CopyKind::CpAsync;
    plan.ring = 0;
    plan.buffer = *copy.buffer;
    requireDisjoint(load);
  }

  void requireDisjoint(tl::LoadOp load) { requireDisjoint(load, writes_); }
  void requireDisjoint(tl::LoadOp load, const LoopWrites &writes) {
    for (const unsigned stored : writes.stored())
      if (const std::pair pair(*argumentOf(load.getPointer()), stored);
          !llvm::is_contained(plan_.disjoint, pair))
        plan_.disjoint.push_back(pair);
  }

  /// The loads inside an `if` by which a load's address, or what this needs, is computed.
  void requireDisjointIn(const LoopSlice &address) {
    std::vector<LoopSlice> slices =
        LoadsAhead::slicesFor(loop_, address.loads.getArrayRef()).value();
    slices.push_back(address);
    for (const LoopSlice &slice : slices)
      for (Operation *load : slice.madeLoads)
        requireDisjoint(cast<tl::LoadOp>(load));
  }

  /// The shared memory that one buffer of each load takes.
  int64_t bytesOfIteration() const {
    int64_t bytes = 0;
    for (const LoadPlan &load : plan_.loads)
      if (load.isCopied())
        bytes = endOfRing(bytes, load.buffer, 1);
    return bytes;
  }

  /// How many buffers of each load there is memory for.
  int mostBuffers() const {
    const int64_t bytes = bytesOfIteration();
    return options_.ringBytes && bytes != 0
               ? static_cast<int>(std::min<int64_t>(*options_.ringBytes / bytes, INT_MAX))
               : INT_MAX;
  }

  /// Leaves all loads in their iteration, as there is no memory for rings.
  void leaveLoads() {
    for (LoadPlan &load : plan_.loads)
      if (load.copy != CopyKind::InIteration) {
        load.copy = CopyKind::InIteration;
        load.why = LoadReason::NoMemory;
        load.ring = -1;
      }
    plan_.disjoint.clear();
  }

  /// Whether the loads that an address needs, and those that these need, can be done in iterations
  /// before.
  bool canLoadAhead(const LoopSlice &address) {
    const auto levels = LoadsAhead::slicesFor(loop_, address.loads.getArrayRef());
    if (!levels)
      return false;
    const auto canMove = [&](Operation *load) {
      return writes_.canMove(cast<tl::LoadOp>(load).getPointer());
    };
    // What `other` of a load is computed from may be anything: no dot is done early for it.
    const auto isMovable = [&](const LoopSlice &slice) {
      return llvm::all_of(slice.loads, canMove) && llvm::all_of(slice.madeLoads, canMove) &&
             llvm::none_of(slice.ops, isDot);
    };
    return isMovable(address) && llvm::all_of(*levels, isMovable);
  }

  /// Small operands of dots that no copy can bring are loaded an iteration early, and so is what is
  /// computed with the sums of the dots, such as scales: what an iteration waits for cannot be
  /// hidden by other warps of the program, as they all wait for it.
  void planRegisters(LoadPlan &plan) {
    const bool cannotCopy = plan.why == LoadReason::Narrow || plan.why == LoadReason::NotATile ||
                            plan.why == LoadReason::Other || plan.why == LoadReason::CacheModifier;
    auto load = cast<tl::LoadOp>(plan.load);
    const bool isBesideDots = plan.why == LoadReason::NoDot && !isAddress(load) &&
                              load->getParentOp() == loop_ && writes_.canMove(load.getPointer());
    if (!(cannotCopy && plan.feedsDot) && !isBesideDots)
      return;
    if (load.getIsVolatile() ||
        elementsOfThread(load) > (isBesideDots ? kMostBesideDots : kMostOfOperand))
      return;
    LoopSlice slice;
    if (!slice.addOperandsOf(loop_, load) || !canLoadAhead(slice))
      return;
    const auto levels = LoadsAhead::slicesFor(loop_, plan.load);
    if (!levels ||
        llvm::any_of(*levels, [&](const LoopSlice &level) { return needsCopies(level); }))
      return;
    plan.copy = CopyKind::Registers;
    plan.why = LoadReason::None;
    requireDisjointIn(slice);
    requireDisjoint(load);
  }

  /// Where nothing is copied, operands that no copy can bring come an iteration early all the same,
  /// if all of them can, sums take so many registers that few warps run beside one another, and
  /// there are enough for the operands of two iterations.
  void planOperands() {
    constexpr int64_t kManySums = 64, kRegistersOfAddresses = 96;
    int64_t sums = 0, loaded = 0; // an element of 1 or 2 bytes has a register of its own
    int warps = 1;
    loop_.getBody()->walk([&](Operation *op) {
      if (!isDot(op))
        return;
      sums += registersOf(op->getResult(0).getType());
      warps = tlg::layoutOf(op->getResult(0).getType()).warpCount();
    });
    for (const LoadPlan &plan : plan_.loads)
      if (plan.feedsDot)
        loaded += static_cast<int64_t>(elementsOfThread(plan.load));
    const int64_t needed = sums + 2 * loaded + kRegistersOfAddresses;
    if (loaded == 0 || sums < kManySums || needed > target_.registersPerThread(warps))
      return;
    const LoopPlan before = plan_;
    for (LoadPlan &plan : plan_.loads)
      planRegisters(plan);
    const bool isWhole = llvm::all_of(plan_.loads, [](const LoadPlan &plan) {
      return !plan.feedsDot || plan.copy == CopyKind::Registers;
    });
    if (!isWhole)
      plan_ = before;
  }

  /// Whether the loop stores in every iteration, and computes what goes into the next one from what
  /// it was and from something that it loads: nothing of the next iteration can begin in this one,
  /// and no load comes before this one's stores, so each iteration waits for its loads. Where
  /// threads exchange nothing, ptxas makes several iterations one and begins their loads together.
  /// A loop inside the loop would have most of the time.
  bool isRecurrence() {
    if (!storesAndExchanges())
      return false;
    return llvm::any_of(llvm::enumerate(loop_.getYieldedValues()), [&](const auto &yielded) {
      llvm::SmallSetVector<Value, 16> needed;
      needed.insert(yielded.value());
      bool loads = false;
      for (size_t i = 0; i < needed.size(); ++i) {
        Operation *op = needed[i].getDefiningOp();
        if (!op || op->getBlock() != loop_.getBody())
          continue;
        if (isa<tl::LoadOp>(op))
          loads = true; // what its address needs says nothing
        else
          op->walk([&](Operation *inner) { needed.insert_range(inner->getOperands()); });
      }
      return loads && needed.contains(loop_.getRegionIterArg(yielded.index()));
    });
  }

  bool storesAndExchanges() {
    bool exchanges = false, hasLoop = false;
    loop_.getBody()->walk([&](Operation *op) {
      exchanges |= isDot(op) || isa<tl::ReduceOp, tl::ScanOp, tlg::ConvertLayoutOp>(op);
      hasLoop |= isa<LoopLikeOpInterface>(op);
    });
    return !writes_.isEmpty() && exchanges && !hasLoop;
  }

  /// Whether an iteration computes so much, beside stores, that ptxas makes no two of them one: a
  /// thread has many exponentials of it, or the like. It may put a load off to its first use, too,
  /// where registers are short, and the iteration then waits for each load in turn.
  bool isLongIteration() {
    constexpr size_t kManyElements = 64;
    return storesAndExchanges() &&
           llvm::any_of(loop_.getBody()->without_terminator(), [](Operation &op) {
             const OpFacts *facts = tl::factsOf(&op);
             return facts && facts->cost > OpCost::Divide && tl::isElementwise(&op) &&
                    op.getNumResults() == 1 && elementsOfThread(&op) >= kManyElements;
           });
  }

  /// Its loads are done an iteration early, if a thread has few registers of them: where it has
  /// many, an iteration has more to do than to wait, and the registers are missed.
  void planRecurrence() {
    constexpr size_t kMostWords = 16;
    size_t words = 0;
    llvm::SmallVector<LoadPlan *> early;
    for (LoadPlan &plan : plan_.loads) {
      auto load = cast<tl::LoadOp>(plan.load);
      LoopSlice slice;
      if (load.getIsVolatile() || !writes_.canMove(load.getPointer()) ||
          !slice.addOperandsOf(loop_, load) || !slice.loads.empty() || !canLoadAhead(slice))
        continue;
      const Type element = getElementTypeOrSelf(load.getType());
      const size_t bits = isa<tl::PtrType>(element) ? 64 : element.getIntOrFloatBitWidth();
      words += llvm::divideCeil(elementsOfThread(load) * bits, 32);
      early.push_back(&plan);
    }
    if (words > kMostWords)
      return;
    for (LoadPlan *plan : early) {
      auto load = cast<tl::LoadOp>(plan->load);
      LoopSlice slice;
      slice.addOperandsOf(loop_, load);
      plan->copy = CopyKind::Registers;
      plan->why = LoadReason::None;
      requireDisjointIn(slice);
      requireDisjoint(load);
    }
  }

  /// Whether loads ahead need what a copy fills for its own iteration.
  bool needsCopies(const LoopSlice &slice) {
    return llvm::any_of(slice.loads, [&](Operation *op) {
      return llvm::any_of(plan_.loads,
                          [&](const LoadPlan &load) { return load.load == op && load.isCopied(); });
    });
  }

  // What of a load fits into a thread's registers for another iteration.
  static constexpr size_t kMostOfOperand = 16, kMostBesideDots = 4;

  static size_t elementsOfThread(Operation *load) {
    Type type = load->getResult(0).getType();
    return isa<RankedTensorType>(type) ? size_t{1} << tlg::layoutOf(type).registers.size() : 1;
  }

  /// Finds the loads that are done ahead for the addresses of copies, by level. They take no
  /// buffers themselves: reading them from there would replace the ops that compute the addresses.
  /// Those that the iteration needs, too, are loaded an iteration early for it, if they are small.
  void planAddresses() {
    LoopSlice all;
    for (const LoopSlice &address : addresses_) {
      all.ops.insert_range(address.ops);
      all.loads.insert_range(address.loads);
    }
    llvm::SmallVector<Operation *> loads(all.loads.begin(), all.loads.end());
    const auto slices = LoadsAhead::slicesFor(loop_, loads);
    if (loads.empty() || !slices)
      return;
    llvm::SmallPtrSet<Operation *, 32> uses(all.ops.begin(), all.ops.end());
    for (const LoadPlan &load : plan_.loads)
      if (load.isCopied())
        uses.insert(load.load);
    for (const LoopSlice &slice : *slices) {
      levels_.push_back(loads);
      uses.insert(loads.begin(), loads.end());
      uses.insert(slice.ops.begin(), slice.ops.end());
      loads.assign(slice.loads.begin(), slice.loads.end());
    }
    for (LoadPlan &load : plan_.loads)
      if (load.isCopied() && isAddress(load.load)) {
        const bool isNeeded = !llvm::all_of(load.load->getUsers(),
                                            [&](Operation *user) { return uses.contains(user); });
        load.copy = isNeeded && elementsOfThread(load.load) <= kMostOfOperand
                        ? CopyKind::Registers
                        : CopyKind::InIteration;
        load.ring = -1;
      }
  }

  bool isAddress(Operation *load) const {
    return llvm::any_of(levels_,
                        [&](const auto &level) { return llvm::is_contained(level, load); });
  }

  /// Notes how early these loads are.
  void noteAddresses(int ahead) {
    for (const auto &level : levels_) {
      ++ahead;
      for (LoadPlan &load : plan_.loads)
        if (llvm::is_contained(level, load.load)) {
          load.addressAhead = ahead;
          requireDisjoint(cast<tl::LoadOp>(load.load));
        }
    }
  }

  /// How many warps there are, if they are several warpgroups and make first operands of dots
  /// themselves; else 0.
  int warpsThatCompute() {
    for (auto dot : loop_.getBody()->getOps<tlg::WgmmaOp>()) {
      int warps = 1;
      for (const int32_t along : dot.getWarps())
        warps *= along;
      const bool isDelayed = plan_.delayedDot && plan_.delayedDot->second == dot;
      if (warps > kWarpsOfGroup && (isDelayed || isComputed(dot.getA())))
        return warps;
    }
    return 0;
  }

  /// Whether this or the last iteration computes `value`, other than by loading it.
  bool isComputed(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && isa<tl::TransOp, tlg::ConvertLayoutOp>(op)) {
      value = op->getOperand(0);
      op = value.getDefiningOp();
    }
    return value.getParentBlock() == loop_.getBody() && !isa_and_nonnull<tl::LoadOp>(op);
  }

  /// How many CTAs copy by TMA what all of them want; 1: none.
  int ctasThatShare() {
    const auto cluster =
        loop_->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(tlg::kClusterAttribute);
    if (!cluster || !target_.hasMulticast || plan_.copies(CopyKind::CpAsync) || plan_.delayedDot)
      return 1;
    const auto ctas = static_cast<int>(cluster.getInt());
    return llvm::any_of(plan_.loads,
                        [&](const LoadPlan &load) {
                          return load.copy == CopyKind::Tma &&
                                 load.load->hasAttr(tlg::kSharedByCtasAttribute) &&
                                 canShareCopies(*tmaAccess(cast<tl::LoadOp>(load.load)), ctas);
                        })
               ? ctas
               : 1;
  }

  RingPlan planRing(int64_t usedBytes) {
    RingPlan ring;
    const int warps = warpsThatCompute();
    ring.buffers = std::min(plan_.stages, mostBuffers());
    // Stages count from the first load: those of addresses take some of them.
    if (loop_.getBody()->getOps<tlg::WgmmaOp>().empty())
      ring.buffers = std::max(2, ring.buffers - static_cast<int>(levels_.size()));
    ring.extra = extraBuffer(usedBytes, warps != 0);
    if (ring.extra != ExtraBuffer::None)
      ++ring.buffers;
    ring.ahead = ring.buffers - 1; // into the buffer that the iteration before has read
    constexpr int kBuffersToWaitLate = 4;
    if (const int ctas = ctasThatShare(); ctas > 1 && ring.buffers > 2) {
      ring.sync = RingSync::ClusterMbarriers;
      ring.ctas = ctas;
      // What other CTAs say takes long to come: into the buffer of one iteration before that.
      if (ring.buffers >= kBuffersToWaitLate)
        --ring.ahead;
      ring.warps = static_cast<int>(loop_->getParentOfType<ModuleOp>()
                                        ->getAttrOfType<IntegerAttr>(tlg::kNumWarpsAttribute)
                                        .getInt());
    } else if (warps != 0 && ring.buffers > 2) {
      ring.sync = RingSync::FilledAndReleasedMbarriers;
      ring.warps = warps;
    } else if (plan_.copies(CopyKind::Tma)) {
      ring.sync = RingSync::FilledMbarriers;
    }
    return ring;
  }

  /// A buffer more than stages is taken where it gains and memory would be left unused: three for
  /// two where warpgroups can then go through iterations independently, four for three where
  /// threads copy for dots by wgmma and no multiprocessor can have fewer CTAs for it, one more than
  /// asked for where CTAs share copies, as one waits for what other CTAs say. Scratch may
  /// need more in the end: then the kernel is compiled again without (PipelineOptions).
  ExtraBuffer extraBuffer(int64_t usedBytes, bool isIndependent) {
    const bool copiesForDots =
        !loop_.getBody()->getOps<tlg::WgmmaOp>().empty() && plan_.copies(CopyKind::CpAsync);
    const bool isWanted = ctasThatShare() > 1 ? plan_.stages >= 3
                          : isIndependent     ? plan_.stages == 2
                                              : copiesForDots && plan_.stages == 3;
    if (!options_.extraBuffers || !isWanted)
      return ExtraBuffer::None;
    const int64_t ofIteration = bytesOfIteration();
    const int64_t most = target_.sharedBytes();
    const int64_t before = usedBytes + plan_.stages * ofIteration, after = before + ofIteration;
    if (after > most || (!isIndependent && most / after < most / before))
      return ExtraBuffer::None;
    return isIndependent ? ExtraBuffer::IndependentWarpgroups : ExtraBuffer::FewerWaits;
  }

  /// In a loop: whether the first copies of a round can begin in the round before. That takes no
  /// more memory, as buffers that a loop uses are its own until it ends.
  void planRounds() {
    if (!loop_->getParentOfType<LoopLikeOpInterface>())
      return;
    plan_.rounds = RoundPlan();
    auto around = dyn_cast<scf::ForOp>(loop_->getParentOp());
    if (!around || around.getUnsignedCmp()) {
      plan_.rounds->why = RoundReason::Around;
      return;
    }
    LoopSlice round, next; // what a round begins with, and what the next one finds
    round.isOfOneIteration = next.isOfOneIteration = true;
    next.given = loop_;
    llvm::SmallSetVector<Operation *, 8> loads;
    const auto add = [&](Value value) { return round.add(around, value); };
    const auto addSlice = [&](const LoopSlice &slice) {
      loads.insert_range(slice.loads);
      loads.insert_range(slice.madeLoads);
      return llvm::all_of(slice.outside, add);
    };
    bool isKnown = add(loop_.getLowerBound()) && add(loop_.getUpperBound()) && add(loop_.getStep());
    for (const LoadPlan &plan : plan_.loads) {
      if (plan.copy == CopyKind::InIteration)
        continue;
      auto load = cast<tl::LoadOp>(plan.load);
      loads.insert(load);
      const auto tma = plan.copy == CopyKind::Tma ? tmaAccess(load) : std::nullopt;
      if (tma && !isMadeOutside(tma->tile, around)) {
        plan_.rounds->why = RoundReason::TensorMap;
        return;
      }
      LoopSlice slice;
      if (plan.isCopied())
        slice = addressOf(loop_, load, tma).value();
      else
        slice.addOperandsOf(loop_, load);
      isKnown &= addSlice(slice);
      const auto levels = LoadsAhead::slicesFor(loop_, slice.loads.getArrayRef());
      for (const LoopSlice &level : *levels)
        isKnown &= addSlice(level);
    }
    for (const unsigned variable : round.variables)
      isKnown &= next.add(around, around.getYieldedValues()[variable]);
    loads.insert_range(round.madeLoads);
    loads.insert_range(next.madeLoads);
    if (!isKnown || llvm::any_of(round.ops, isDot) || llvm::any_of(next.ops, isDot)) {
      plan_.rounds->why = RoundReason::Address;
      return;
    }
    const LoopWrites writes(around);
    for (Operation *load : loads)
      if (Value pointer = cast<tl::LoadOp>(load).getPointer(); !writes.canMove(pointer)) {
        Operation *write = writes.firstWrite(pointer);
        plan_.rounds->why = write ? RoundReason::StoredTo : RoundReason::MemoryOrder;
        plan_.rounds->because = write ? write : writes.firstOrder();
        return;
      }
    for (Operation *load : loads)
      requireDisjoint(cast<tl::LoadOp>(load), writes);
  }

  /// Whether the map that a tile is copied by is there before the loop.
  static bool isMadeOutside(const RectangularTile &tile, scf::ForOp loop) {
    const auto isOutside = [&](const RectangularTile::Number &number) {
      return !number.value || loop.isDefinedOutsideOfLoop(number.value);
    };
    return tile.isKnownAtLaunch() ||
           (isOutside(tile.base) && llvm::all_of(tile.dims, [&](const RectangularTile::Dim &dim) {
              return isOutside(dim.size) && isOutside(dim.stride);
            }));
  }

  scf::ForOp loop_;
  LoopWrites writes_; ///< what the loop does to global memory
  const GpuTarget &target_;
  const PipelineOptions &options_;
  bool asksForStages_ = false;                         ///< the loop itself
  std::vector<LoopSlice> addresses_;                   ///< of the loads that are copied
  std::vector<llvm::SmallVector<Operation *>> levels_; ///< loads that these need
  LoopPlan plan_;
};

Operation *outermostLoop(Operation *loop) {
  while (auto around = loop->getParentOfType<LoopLikeOpInterface>())
    loop = around;
  return loop;
}

/// The shared memory that a loop's rings take, at the end of what is taken already.
int64_t endOfRings(const LoopPlan &loop, int64_t usedBytes) {
  for (const LoadPlan &load : loop.loads)
    if (load.ring >= 0)
      usedBytes = endOfRing(usedBytes, load.buffer, buffersOf(load, loop.rings[load.ring]));
  for (const RingPlan &ring : loop.rings) {
    const int mbarriers = ring.sync == RingSync::CtaBarrier        ? 0
                          : ring.sync == RingSync::FilledMbarriers ? 1
                                                                   : 2;
    usedBytes = llvm::alignTo(usedBytes, kBarrierBytes) + mbarriers * ring.buffers * kBarrierBytes;
  }
  return llvm::alignTo(usedBytes, 16);
}

} // namespace

int64_t LoopPlan::ringBytes() const {
  int64_t bytes = 0;
  for (const LoadPlan &load : loads)
    if (load.ring >= 0)
      bytes = endOfRing(bytes, load.buffer, buffersOf(load, rings[load.ring]));
  return bytes;
}

bool LoopPlan::copies(CopyKind kind) const {
  return llvm::any_of(loads, [&](const LoadPlan &load) { return load.copy == kind; });
}

bool PipelinePlan::hasExtraBuffers() const {
  return llvm::any_of(loops, [](const LoopPlan &loop) {
    return llvm::any_of(loop.rings,
                        [](const RingPlan &ring) { return ring.extra != ExtraBuffer::None; });
  });
}

bool PipelinePlan::loadsEarly() const {
  return llvm::any_of(loops, [](const LoopPlan &loop) { return loop.loadsEarly(); });
}

int64_t PipelinePlan::mostRingBytes() const {
  int64_t most = 0;
  for (const LoopPlan &loop : loops)
    most = std::max(most, loop.ringBytes());
  return most;
}

const LoopPlan *PipelinePlan::loopOfMostBytes() const {
  const auto most = llvm::max_element(
      loops, [](const LoopPlan &a, const LoopPlan &b) { return a.ringBytes() < b.ringBytes(); });
  return most == loops.end() ? nullptr : &*most;
}

int64_t PipelinePlan::oneBufferBytes() const {
  const LoopPlan *most = loopOfMostBytes();
  int64_t bytes = 0;
  if (most && most->isPipelined())
    for (const LoadPlan &load : most->loads)
      if (load.ring >= 0 && !load.hasOneBuffer && mayHaveOneBuffer(load, most->rings[load.ring]))
        bytes += tlg::sharedLayoutOf(load.buffer).sizeBytes();
  return bytes;
}

bool SpareRing::isLong() const { return iterationBytes >= kBytesOfLongIteration; }

SpareRing PipelinePlan::spareRing() const {
  const LoopPlan *most = loopOfMostBytes();
  if (!most || !most->isPipelined())
    return {};
  const RingPlan &ring = most->rings.front();
  auto loop = cast<scf::ForOp>(most->loop);
  const auto wgmmas = static_cast<int>(llvm::range_size(loop.getBody()->getOps<tlg::WgmmaOp>()));
  const auto stores = [&] {
    return loop
        .walk([](Operation *op) {
          return isa<tl::StoreOp, tlg::TmaStoreOp>(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
        })
        .wasInterrupted();
  };
  if (ring.sync != RingSync::CtaBarrier || ring.buffers <= 2 ||
      (wgmmas != 0 && (loop->getParentOfType<LoopLikeOpInterface>() || stores())))
    return {};
  return {most->ringBytes() / ring.buffers, ring.buffers, wgmmas};
}

PipelinePlan planPipelines(func::FuncOp function, const GpuTarget &target,
                           const PipelineOptions &options) {
  PipelinePlan plan;
  int64_t allocated = 0;
  function.walk([&](tlg::AllocSharedOp alloc) {
    allocated = endOfRing(allocated, alloc.getType(), alloc.getType().getStages());
  });
  // Loops in one loop have their rings at the same time; loops after one another do not.
  Operation *outermost = nullptr;
  int64_t usedBytes = allocated;
  function.walk([&](scf::ForOp loop) {
    if (Operation *own = outermostLoop(loop); own != outermost) {
      outermost = own;
      usedBytes = allocated;
    }
    const bool hasLoopInside = llvm::any_of(plan.loops, [&](const LoopPlan &other) {
      return other.isPipelined() && loop->isProperAncestor(other.loop);
    });
    plan.loops.push_back(LoopPlanner(loop, target, options).run(usedBytes, hasLoopInside));
    if (plan.loops.back().isPipelined())
      usedBytes = endOfRings(plan.loops.back(), usedBytes);
  });
  return plan;
}

} // namespace blockscope::gpu
