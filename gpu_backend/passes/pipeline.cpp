// Software pipelining: the loads that feed a loop's products are begun num_stages - 1 turns early;
// all loads, where tl.range asks for stages.
//
// Such a load becomes cp.async into a ring of num_stages blocks in shared memory. Its pointers and
// masks come from a copy of the ops that compute them, run ahead on loop variables of their own
// (`ahead`). In turn i:
//   wait until this thread's copies for turn i have come; barrier: those of all threads have
//   begin the copies for turn i + num_stages - 1, into the block that turn i - 1 read
//   the turn itself
// so one barrier says both that the data is there and that the oldest block is free. Products by
// wgmma are still running after their turn; there the copies wait for those of the turn before, and
// a second barrier.
//
// Rectangles of tensors are copied by TMA instead: one thread begins all of a turn's, and one
// mbarrier for each block of the rings tells all threads when its bytes have come.
//
// What the loop stores may be what a later turn loads. Loads of the arguments that are stored to
// stay in their turn; of the others it is recorded that they must be other memory.
//
// Where warpgroups compute between products (attention), a barrier in every turn would make them
// multiply at the same time and compute at the same time, and one half of the chip would always be
// idle. There, with three stages or more, warps meet only at mbarriers, one that says that a block
// has come and one that says that it was read:
//   wait until the block for turn i has come
//   the turn itself; before its last product is waited for:
//     wait until all warps have read what turn i - 1 read; begin the copies into it
//   say that this warp has read turn i's
// so that a warpgroup can be most of a turn ahead of the other one. Where two stages were asked for
// the rings get a third block, if there is memory for it.
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/arguments_apart.h"
#include "gpu_backend/passes/delay_products.h"
#include "gpu_backend/passes/loop_slice.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/place_shared.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

struct EarlyLoad {
  tl::LoadOp load;
  tlg::SharedType block;
  Value ring;
  tl::LoadOp after; ///< behind the loop, the load of one turn more; or null
  bool isTma = false;
};

constexpr int kWarpsOfGroup = 4;

bool isProduct(Operation *op) { return isa<tl::DotOp, tlg::MmaOp, tlg::WgmmaOp>(op); }

/// Whether `value` goes, by way of other ops of its block, into an operand of a product there.
bool feedsProduct(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    const Value current = open.pop_back_val();
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (isProduct(user)) {
        if (use.getOperandNumber() < 2)
          return true;
        continue;
      }
      if (user->getBlock() == value.getParentBlock() && isPure(user) && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  }
  return false;
}

class LoopPipeliner {
public:
  /// `asked` says that the loop itself asks for its stages.
  LoopPipeliner(scf::ForOp loop, const GpuTarget &target, int stages, bool asked)
      : loop_(loop), writes_(loop), target_(target), stages_(stages), asked_(asked),
        rewriter_(loop) {}

  bool run() {
    if (loop_.getUnsignedCmp())
      return false;
    if (writes_.isEmpty())
      delayed_ = delayProduct(rewriter_, loop_);
    findLoads();
    if (loads_.empty())
      return false;
    addBlock();
    warpsApart_ = stages_ > 2 ? warpsThatCompute() : 0;
    beginBeforeLoop();
    addVariables();
    rewriteBody();
    return true;
  }

private:
  int distance() const { return stages_ - 1; }

  /// Takes a stage more where it gains and memory would be left unused: three for two where that
  /// lets warpgroups go apart, four for three where threads copy for products of warpgroups and no
  /// multiprocessor can have fewer CTAs for it. Scratch may need more in the end: then the kernel
  /// is compiled again without this.
  void addBlock() {
    auto function = loop_->getParentOfType<func::FuncOp>();
    auto module = function->getParentOfType<ModuleOp>();
    const bool goesApart = warpsThatCompute() != 0;
    const bool copiesForProducts = !loop_.getBody()->getOps<tlg::WgmmaOp>().empty() && hasCopies();
    if (module->hasAttr(tlg::kNoMoreBlocksAttribute) ||
        !(goesApart ? stages_ == 2 : copiesForProducts && stages_ == 3))
      return;
    int64_t ofTurn = 0;
    for (const EarlyLoad &early : loads_)
      ofTurn += llvm::alignTo(tlg::sharedLayoutOf(early.block).sizeBytes(), 1024);
    const int64_t most = target_.sharedBytes();
    const int64_t before = SharedPlaces(function).sizeBytes() + stages_ * ofTurn;
    const int64_t after = before + ofTurn;
    if (after > most || (!goesApart && most / after < most / before))
      return;
    ++stages_;
    module->setAttr(tlg::kMoreBlocksAttribute, rewriter_.getUnitAttr());
  }

  void findLoads() {
    for (auto load : loop_.getBody()->getOps<tl::LoadOp>()) {
      if (!writes_.canMove(load.getPointer()))
        continue;
      const bool feeds = feedsProduct(load.getResult());
      const std::optional<TmaAccess> tma = tmaAccess(load);
      const std::optional<tlg::SharedType> block =
          tma ? std::optional(tma->block) : sharedForLoad(load, /*withOther=*/!feeds);
      LoopSlice slice = slice_;
      if (block && (feeds || asked_) && addAddress(slice, load, tma)) {
        slice_ = slice;
        writes_.requireApart(load.getPointer());
        loads_.push_back({load, *block, {}, {}, tma.has_value()});
        if (delayed_ && delayed_->inLoop == load)
          loads_.back().after = delayed_->after;
      }
    }
  }

  /// Adds what says where a load reads.
  bool addAddress(LoopSlice &slice, tl::LoadOp load, const std::optional<TmaAccess> &tma) {
    if (!tma)
      return slice.add(loop_, load.getPointer()) &&
             (!load.getMask() || slice.add(loop_, load.getMask()));
    return (!tma->tile.condition || slice.add(loop_, tma->tile.condition)) &&
           llvm::all_of(tma->tile.dims, [&](const RectangularTile::Dim &dim) {
             return !dim.start || slice.add(loop_, dim.start);
           });
  }

  /// How many warps there are, if they are several warpgroups and make first operands of products
  /// themselves; else 0.
  int warpsThatCompute() {
    for (auto product : loop_.getBody()->getOps<tlg::WgmmaOp>()) {
      int warps = 1;
      for (const int32_t along : product.getWarps())
        warps *= along;
      if (warps > kWarpsOfGroup && isComputed(product.getA()))
        return warps;
    }
    return 0;
  }
  /// Whether this or the last turn computes `value`, other than by loading it.
  bool isComputed(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && isa<tl::TransOp, tlg::ConvertLayoutOp>(op)) {
      value = op->getOperand(0);
      op = value.getDefiningOp();
    }
    return value.getParentBlock() == loop_.getBody() && !isa_and_nonnull<tl::LoadOp>(op);
  }
  bool isApart() const { return warpsApart_ != 0; }

  bool hasTma() const {
    return llvm::any_of(loads_, [](const EarlyLoad &early) { return early.isTma; });
  }
  bool hasCopies() const {
    return llvm::any_of(loads_, [](const EarlyLoad &early) { return !early.isTma; });
  }

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(rewriter_, loop_.getLoc(),
                                     rewriter_.getIntegerAttr(type, value));
  }

  /// Whether there is a turn `turns` after the one that begins at `at`, which exists.
  Value hasTurn(Value at, int turns) {
    const Location location = loop_.getLoc();
    Value left = loop_.getUpperBound(), step = loop_.getStep();
    Type wide = rewriter_.getI64Type();
    const auto widened = [&](Value value) -> Value {
      if (value.getType() == wide || value.getType().isIndex())
        return value;
      return arith::ExtSIOp::create(rewriter_, location, wide, value);
    };
    // A constant step cannot overflow, other steps are multiplied in 64 bits.
    llvm::APInt known;
    const bool isSmall = matchPattern(step, m_ConstantInt(&known)) && known.ult(1 << 20);
    if (!isSmall) {
      left = widened(left);
      at = widened(at);
      step = widened(step);
    }
    left = arith::SubIOp::create(rewriter_, location, left, at);
    Value needed =
        isSmall ? constant(step.getType(), known.getSExtValue() * turns)
                : arith::MulIOp::create(rewriter_, location, step, constant(step.getType(), turns))
                      .getResult();
    return arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::ugt, left, needed);
  }

  Value advanced(Value at, int turns) {
    const Location location = loop_.getLoc();
    Value distance = arith::MulIOp::create(rewriter_, location, loop_.getStep(),
                                           constant(loop_.getStep().getType(), turns));
    return arith::AddIOp::create(rewriter_, location, at, distance);
  }

  /// Begins all copies of one turn, and gives the next turn's `ahead`. `predicate` says whether
  /// there is this turn, `extraPredicate` whether there is the one before it; null is yes.
  llvm::SmallVector<Value> beginCopies(Value turn, ValueRange ahead, Value stage, Value predicate,
                                       Value extraPredicate) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), turn);
    for (auto [variable, value] : llvm::zip(slice_.variables, ahead))
      mapping.map(loop_.getRegionIterArg(variable), value);
    slice_.clone(rewriter_, loop_, mapping);
    Value barrier = hasTma() ? expectBytes(stage, predicate, extraPredicate) : Value();
    for (EarlyLoad &early : loads_) {
      const Location location = early.load.getLoc();
      Value block = tlg::StageOp::create(rewriter_, location, early.block, early.ring, stage);
      if (early.isTma) {
        const TmaAccess access = *tmaAccess(early.load); // anew: the loop may have been replaced
        const auto starts = makeStarts(rewriter_, location, access.tile,
                                       [&](Value value) { return mapping.lookupOrDefault(value); });
        auto function = loop_->getParentOfType<func::FuncOp>();
        tlg::TmaLoadOp::create(rewriter_, location, block, barrier, starts,
                               early.after ? extraPredicate : predicate,
                               static_cast<uint32_t>(addTensorMap(function, access)));
        continue;
      }
      Value mask = early.load.getMask() ? mapping.lookupOrDefault(early.load.getMask()) : Value();
      auto copy = tlg::AsyncCopyOp::create(rewriter_, location,
                                           mapping.lookupOrDefault(early.load.getPointer()), block,
                                           mask, early.after ? extraPredicate : predicate);
      copy->setAttr(tlg::kVectorAttribute, early.load->getAttr(tlg::kVectorAttribute));
    }
    if (isApart() && hasCopies())
      tlg::AsyncArriveOp::create(rewriter_, loop_.getLoc(), barrierOf(arrived_, stage),
                                 hasExtra() ? extraPredicate : predicate);
    else if (hasCopies())
      tlg::AsyncCommitOp::create(rewriter_, loop_.getLoc());
    llvm::SmallVector<Value> next;
    for (const unsigned variable : slice_.variables)
      next.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[variable]));
    return next;
  }

  /// Whether some copies are for the turn before too.
  bool hasExtra() const {
    return llvm::any_of(loads_, [](const EarlyLoad &early) { return early.after != nullptr; });
  }
  bool hasBarriers() const { return isApart() || hasTma(); }

  Value barrierOf(Value barriers, Value stage) {
    const auto ring = cast<tlg::SharedType>(barriers.getType());
    const auto one =
        tlg::sharedType(ring.getShape(), ring.getElementType(), tlg::sharedLayoutOf(ring));
    return tlg::StageOp::create(rewriter_, loop_.getLoc(), one, barriers, stage);
  }

  /// The mbarrier of a block of the rings, told how many bytes will come for a turn.
  Value expectBytes(Value stage, Value predicate, Value extraPredicate) {
    const Location location = loop_.getLoc();
    int64_t always = 0, extra = 0; // of the turn before, too
    for (const EarlyLoad &early : loads_)
      if (early.isTma)
        (early.after ? extra : always) += tlg::sharedLayoutOf(early.block).sizeBytes();
    Value bytes = constant(rewriter_.getI32Type(), always + extra);
    // For the turn before the mbarrier is waited for even where only other copies are for it.
    if (hasExtra() && always != 0 && predicate)
      bytes = arith::SelectOp::create(rewriter_, location, predicate, bytes,
                                      constant(rewriter_.getI32Type(), extra));
    Value barrier = barrierOf(arrived_, stage);
    tlg::MbarrierExpectOp::create(rewriter_, location, barrier, bytes,
                                  hasExtra() ? extraPredicate : predicate);
    return barrier;
  }

  /// Makes the rings' mbarriers; in a loop they are made anew for every round.
  void makeBarriers() {
    const Location location = loop_.getLoc();
    Operation *outermost = nullptr;
    for (Operation *outer = loop_->getParentOp(); !isa<func::FuncOp>(outer);
         outer = outer->getParentOp())
      outermost = outer;
    arrived_ = makeRing(outermost, (hasTma() ? 1 : 0) + (hasCopies() ? 32 * warpsApart_ : 0));
    if (isApart())
      read_ = makeRing(outermost, warpsApart_);
    if (hasTma())
      tlg::FenceAsyncOp::create(rewriter_, location); // threads may have written where TMA will
    tl::BarrierOp::create(rewriter_, location);
  }

  /// A ring of mbarriers, which is there before `outermost` (may be null).
  Value makeRing(Operation *outermost, int arrivals) {
    const Location location = loop_.getLoc();
    const auto type =
        tlg::SharedType::get(rewriter_.getContext(), {1}, rewriter_.getI64Type(), {}, stages_);
    Value barriers;
    {
      const OpBuilder::InsertionGuard guard(rewriter_);
      if (outermost)
        rewriter_.setInsertionPoint(outermost);
      barriers = tlg::AllocSharedOp::create(rewriter_, location, type, IntegerAttr());
      if (outermost)
        tlg::MbarrierInitOp::create(rewriter_, location, barriers, arrivals, /*again=*/false);
    }
    tlg::MbarrierInitOp::create(rewriter_, location, barriers, arrivals,
                                /*again=*/outermost != nullptr);
    return barriers;
  }

  void beginBeforeLoop() {
    const Location location = loop_.getLoc();
    rewriter_.setInsertionPoint(loop_);
    for (EarlyLoad &early : loads_)
      early.ring = tlg::AllocSharedOp::create(
          rewriter_, early.load.getLoc(),
          tlg::SharedType::get(rewriter_.getContext(), early.block.getShape(),
                               early.block.getElementType(), early.block.getOffsets(), stages_),
          IntegerAttr());
    if (loop_->getParentOfType<scf::ForOp>() || loop_->getParentOfType<scf::WhileOp>())
      tl::BarrierOp::create(rewriter_, location); // the last round may still be read
    if (hasBarriers())
      makeBarriers();
    for (const unsigned variable : slice_.variables)
      ahead_.push_back(loop_.getInitArgs()[variable]);
    Value turn = loop_.getLowerBound();
    Value isEntered = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::slt, turn,
                                            loop_.getUpperBound());
    Value predicate, before;
    for (int stage = 0; stage < distance(); ++stage) {
      before = predicate;
      predicate = isEntered;
      if (stage > 0)
        predicate = arith::AndIOp::create(rewriter_, location, isEntered,
                                          hasTurn(loop_.getLowerBound(), stage));
      ahead_ = beginCopies(stage == 0 ? turn : advanced(turn, stage), ahead_,
                           constant(rewriter_.getI32Type(), stage), predicate, before);
    }
  }

  /// Variables for what is computed ahead, and for the block that a turn reads.
  void addVariables() {
    llvm::SmallVector<Value> initial(ahead_);
    if (hasBarriers())
      initial.push_back(constant(rewriter_.getI32Type(), 0));
    initial.push_back(constant(rewriter_.getI32Type(), 0));
    const unsigned before = loop_.getNumRegionIterArgs();
    auto made = loop_.replaceWithAdditionalYields(
        rewriter_, initial, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
          return llvm::SmallVector<Value>(arguments.begin(), arguments.end());
        });
    loop_ = cast<scf::ForOp>(made->getOperation());
    ahead_.assign(loop_.getRegionIterArgs().begin() + before, loop_.getRegionIterArgs().end());
    slot_ = ahead_.pop_back_val();
    if (hasBarriers())
      parity_ = ahead_.pop_back_val();
    firstNew_ = before;
  }

  void rewriteBody() {
    Block *body = loop_.getBody();
    rewriter_.setInsertionPointToStart(body);
    // Products in an `if` or a loop of their own are complete when that ends.
    const bool hasOwnProducts = !body->getOps<tlg::WgmmaOp>().empty();
    const bool usesWgmma =
        loop_.walk([](tlg::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
    auto barrier = waitForCopies(slot_, parity_, usesWgmma);
    bool isReadByThreads = false;
    for (EarlyLoad &early : loads_) {
      const OpBuilder::InsertionGuard guard(rewriter_);
      Value block =
          tlg::StageOp::create(rewriter_, early.load.getLoc(), early.block, early.ring, slot_);
      replaceLoad(rewriter_, early.load, block);
      isReadByThreads |= llvm::any_of(block.getUsers(),
                                      [](Operation *user) { return isa<tlg::LocalLoadOp>(user); });
    }
    if (barrier && hasTma() && usesWgmma && isReadByThreads) { // TMA will write what they have read
      const OpBuilder::InsertionGuard guard(rewriter_);
      rewriter_.setInsertionPoint(barrier);
      tlg::FenceAsyncOp::create(rewriter_, loop_.getLoc());
    }
    // Where copies wait for the products before, and a barrier, they need no other one.
    if (isApart())
      placeBeforeLastWait(isReadByThreads);
    else if (hasOwnProducts && placeAfterProducts() && !hasCopies())
      rewriter_.eraseOp(barrier);
    Value counter = loop_.getInductionVar();
    llvm::SmallVector<Value> yields =
        beginCopies(advanced(counter, distance()), ahead_, writtenSlot(),
                    hasTurn(counter, distance()), hasTurn(counter, distance() - 1));
    if (hasBarriers())
      yields.push_back(nextParity());
    yields.push_back(nextSlot());
    loop_.getBody()->getTerminator()->setOperands(firstNew_, yields.size(), yields);
    for (EarlyLoad &early : loads_) {
      if (early.after)
        readAfterLoop(early);
      rewriter_.eraseOp(early.load);
    }
  }

  /// All threads see what was copied into a block of the rings. Returns their barrier, if any.
  tl::BarrierOp waitForCopies(Value slot, Value parity, bool usesWgmma) {
    const Location location = loop_.getLoc();
    if (hasBarriers())
      tlg::MbarrierWaitOp::create(rewriter_, location, barrierOf(arrived_, slot), parity);
    if (isApart()) {
      if (hasCopies())
        tlg::FenceAsyncOp::create(rewriter_, location);
      return {};
    }
    if (hasCopies())
      tlg::AsyncWaitOp::create(rewriter_, location, distance() - 1);
    // wgmma reads what threads wrote, or TMA will write what threads have read.
    if (hasCopies() ? usesWgmma || hasTma() : !usesWgmma)
      tlg::FenceAsyncOp::create(rewriter_, location);
    return tl::BarrierOp::create(rewriter_, location);
  }

  /// The block of one turn more has been copied too.
  void readAfterLoop(EarlyLoad &early) {
    const Location location = early.after.getLoc();
    rewriter_.setInsertionPoint(early.after);
    Value parity = hasBarriers() ? loop_.getResults().drop_back().back() : Value();
    waitForCopies(loop_.getResults().back(), parity, /*usesWgmma=*/true);
    Value block = tlg::StageOp::create(rewriter_, location, early.block, early.ring,
                                       loop_.getResults().back());
    replaceLoad(rewriter_, early.after, block);
    rewriter_.eraseOp(early.after);
  }

  /// Moves the place where copies begin behind the first products, and, where products go on after
  /// their turn, behind a wait for those of the turn before. Returns whether there is one.
  bool placeAfterProducts() {
    Block *body = loop_.getBody();
    const int running = keepProductsRunning(rewriter_, loop_);
    if (running == 0) {
      rewriter_.setInsertionPoint(*body->getOps<tlg::WgmmaWaitOp>().begin());
      return false;
    }
    Operation *last = nullptr;
    for (auto product : body->getOps<tlg::WgmmaOp>())
      last = product;
    rewriter_.setInsertionPointAfter(last);
    tlg::WgmmaWaitOp::create(rewriter_, loop_.getLoc(), TypeRange(), ValueRange(), running);
    tl::BarrierOp::create(rewriter_, loop_.getLoc());
    return true;
  }

  /// Moves the place where copies begin to a wait for all warps to have read the turn before's
  /// blocks, late in the turn; each warp says at its end that it has read this turn's.
  void placeBeforeLastWait(bool isReadByThreads) {
    const Location location = loop_.getLoc();
    Operation *terminator = loop_.getBody()->getTerminator();
    rewriter_.setInsertionPoint(terminator);
    tlg::MbarrierArriveOp::create(rewriter_, location, barrierOf(read_, slot_));
    Operation *last = nullptr;
    for (auto wait : loop_.getBody()->getOps<tlg::WgmmaWaitOp>())
      last = wait;
    rewriter_.setInsertionPoint(last);
    Value isFirst = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::eq, slot_,
                                          constant(rewriter_.getI32Type(), 0));
    Value other =
        arith::XOrIOp::create(rewriter_, location, parity_, constant(rewriter_.getI32Type(), 1));
    Value parity = arith::SelectOp::create(rewriter_, location, isFirst, other, parity_);
    tlg::MbarrierWaitOp::create(rewriter_, location, barrierOf(read_, writtenSlot()), parity);
    if (hasTma() && isReadByThreads)
      tlg::FenceAsyncOp::create(rewriter_, location); // TMA will write what they have read
  }

  /// The block that the turn before read.
  Value writtenSlot() {
    return wrapped(slot_, 0, constant(rewriter_.getI32Type(), stages_ - 1), -1);
  }
  Value nextSlot() { return wrapped(slot_, stages_ - 1, constant(rewriter_.getI32Type(), 0), 1); }
  /// Every time that the rings begin anew the other one.
  Value nextParity() {
    const Location location = loop_.getLoc();
    Type type = rewriter_.getI32Type();
    Value isLast = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::eq, slot_,
                                         constant(type, stages_ - 1));
    Value other = arith::XOrIOp::create(rewriter_, location, parity_, constant(type, 1));
    return arith::SelectOp::create(rewriter_, location, isLast, other, parity_);
  }
  /// `slot + step`, or `otherwise` where it is `last`.
  Value wrapped(Value slot, int last, Value otherwise, int step) {
    const Location location = loop_.getLoc();
    Type type = rewriter_.getI32Type();
    Value isLast = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::eq, slot,
                                         constant(type, last));
    Value sum = arith::AddIOp::create(rewriter_, location, slot, constant(type, step));
    return arith::SelectOp::create(rewriter_, location, isLast, otherwise, sum);
  }

  scf::ForOp loop_;
  LoopWrites writes_; ///< what the loop does to global memory
  const GpuTarget &target_;
  int stages_;
  bool asked_;
  IRRewriter rewriter_;
  llvm::SmallVector<EarlyLoad, 2> loads_;
  std::optional<DelayedLoad> delayed_;
  LoopSlice slice_;
  llvm::SmallVector<Value> ahead_; ///< the slice's variables, some turns later
  Value slot_;                     ///< which block of the rings this turn reads
  int warpsApart_ = 0;             ///< so many go through the turns without a barrier; or 0
  Value arrived_, read_;           ///< rings of mbarriers: a block has come, was read
  Value parity_;                   ///< of the phase of `arrived_` that this turn waits for
  unsigned firstNew_ = 0;
};

} // namespace

void pipelineLoops(func::FuncOp function, const GpuTarget &target, const GpuOptions &options) {
  llvm::SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (const scf::ForOp loop : loops) {
    const auto asked = loop->getAttrOfType<IntegerAttr>(tl::kNumStagesHint);
    const int stages = asked ? static_cast<int>(asked.getInt()) : options.numStages;
    if (stages > 1)
      LoopPipeliner(loop, target, stages, asked != nullptr).run();
  }
}

} // namespace blockscope::gpu
