// The skeleton of a pipelined loop.
#include "gpu_backend/pipelining/loop_ring.h"

#include "gpu_backend/passes/running_dots.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"
#include "gpu_backend/pipelining/iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace blockscope::gpu {

LoopRing::LoopRing(const LoopPlan &plan)
    : plan_(plan), ring_(plan.rings.front()), loop_(cast<scf::ForOp>(plan.loop)), rewriter_(loop_) {
}

LoopRing::~LoopRing() = default;

LogicalResult LoopRing::write() {
  if (failed(findCopies()) || failed(findRounds()))
    return failure();
  rewriter_.setInsertionPoint(whole());
  allocate();
  makeBarriers();
  addVariables(begin());
  rewriteBody();
  if (around_)
    beginNextRound();
  replaceOther();
  rewriter_.setInsertionPointAfter(whole());
  if (fillsZeros_) // what comes behind may have the ring's bytes
    tlg::AsyncWaitOp::create(rewriter_, location(), /*pending=*/0);
  finish();
  return success();
}

/// The loads of the plan in the order of the IR, once the dot is delayed.
LogicalResult LoopRing::findCopies() {
  llvm::DenseMap<Operation *, const LoadPlan *> plans;
  const LoadPlan *delayed = nullptr;
  for (const LoadPlan &load : plan_.loads)
    if (load.isDelayed)
      delayed = &load;
    else if (load.copy == CopyKind::Registers)
      earlyLoads_.push_back(load.load);
    else if (load.isCopied())
      plans[load.load] = &load;
  DelayedLoads moved;
  if (plan_.delayedDot)
    moved = delayDot(rewriter_, loop_, *plan_.delayedDot);
  // A loop that also computes operands has no registers for the addresses and would spill them.
  mayFillZeros_ = ring_.sync == RingSync::CtaBarrier && multipliesLoads();
  for (auto load : loop_.getBody()->getOps<tl::LoadOp>()) {
    const bool isMoved = moved.inLoop == load;
    const LoadPlan *plan = isMoved ? delayed : plans.lookup(load);
    if (!plan)
      continue;
    copies_.push_back({load, plan, plan->buffer, {}, isMoved ? moved.after : tl::LoadOp()});
    if (failed(addAddress(copies_.back())))
      return load.emitError("is not as the plan of its loop says (a mistake in blockscope)");
  }
  if (!addresses_.plan(loop_, slice_.loads.getArrayRef(), ahead()) ||
      !early_.plan(loop_, earlyLoads_, /*distance=*/0))
    return loop_.emitError("is not as its plan says (a mistake in blockscope)");
  return success();
}

bool LoopRing::multipliesLoads() {
  const auto isLoaded = [&](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tlg::ConvertLayoutOp, tl::TransOp, tl::ReshapeOp>(op))
        break;
      value = op->getOperand(0);
    }
    return isa<tlg::SharedType>(value.getType()) || value.getDefiningOp<tl::LoadOp>() ||
           loop_.isDefinedOutsideOfLoop(value);
  };
  const auto dots = loop_.getBody()->getOps<tlg::WgmmaOp>();
  return !dots.empty() && llvm::all_of(dots, [&](tlg::WgmmaOp dot) {
    return isLoaded(dot.getA()) && isLoaded(dot.getB());
  });
}

/// Adds what says where a load reads to what is computed ahead.
LogicalResult LoopRing::addAddress(const Copy &copy) {
  tl::LoadOp load = copy.load;
  if (copy.plan->copy == CopyKind::CpAsync)
    return success(slice_.add(loop_, load.getPointer()) &&
                   (!load.getMask() || slice_.add(loop_, load.getMask())));
  const std::optional<TmaAccess> access = tmaAccess(load);
  return success(access && access->buffer == copy.buffer &&
                 (!access->tile.condition || slice_.add(loop_, access->tile.condition)) &&
                 llvm::all_of(access->tile.dims, [&](const RectangularTile::Dim &dim) {
                   return !dim.start || slice_.add(loop_, dim.start);
                 }));
}

/// What the first copies of a round are computed from.
LogicalResult LoopRing::findRounds() {
  if (!plan_.beginsRoundsEarly())
    return success();
  around_ = cast<scf::ForOp>(loop_->getParentOp());
  llvm::SmallSetVector<Value, 8> needed = slice_.outside;
  addresses_.collectOutside(needed);
  early_.collectOutside(needed);
  needed.insert_range(ValueRange{loop_.getLowerBound(), loop_.getUpperBound(), loop_.getStep()});
  roundSlice_.isOfOneIteration = nextSlice_.isOfOneIteration = true;
  nextSlice_.given = loop_;
  if (!llvm::all_of(needed, [&](Value value) { return roundSlice_.add(around_, value); }) ||
      !llvm::all_of(roundSlice_.variables, [&](unsigned variable) {
        return nextSlice_.add(around_, around_.getYieldedValues()[variable]);
      }))
    return loop_.emitError("is not as its plan says (a mistake in blockscope)");
  return success();
}

void LoopRing::allocate() {
  for (Copy &copy : copies_)
    copy.ring = tlg::AllocSharedOp::create(
        rewriter_, copy.load.getLoc(),
        tlg::SharedType::get(rewriter_.getContext(), copy.buffer.getShape(),
                             copy.buffer.getElementType(), copy.buffer.getOffsets(),
                             copy.plan->hasOneBuffer ? 1 : ring_.buffers),
        IntegerAttr());
  if (whole()->getParentOfType<scf::ForOp>() || whole()->getParentOfType<scf::WhileOp>())
    meet(); // the round before may still be read
}

/// Fills the ring for the loop's first round. Gives what its variables begin with.
llvm::SmallVector<Value> LoopRing::begin() {
  Round first;
  if (!around_) {
    llvm::SmallVector<Value> initial = fill(first);
    if (hasParity())
      initial.push_back(i32(0));
    initial.push_back(i32(0));
    return initial;
  }
  first.exists = arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::slt,
                                       around_.getLowerBound(), around_.getUpperBound());
  makeRound(first, around_.getLowerBound(), around_.getInitArgs());
  llvm::SmallVector<Value> initial = fill(first);
  if (hasParity())
    initial.push_back(i32(0));
  initial.push_back(i32(0));
  firstOfRounds_ = around_.getNumRegionIterArgs();
  around_ = withVariables(rewriter_, around_, initial);
  return llvm::to_vector_of<Value>(around_.getRegionIterArgs().drop_front(firstOfRounds_));
}

/// Makes what the first copies of a round need, in the iteration of `counter` of the loop around,
/// with its variables as in `variables`.
void LoopRing::makeRound(Round &round, Value counter, ValueRange variables) {
  for (const unsigned variable : roundSlice_.variables)
    round.outside.map(around_.getRegionIterArg(variable), variables[variable]);
  roundSlice_.clone(rewriter_, around_, round.outside, {counter, round.exists});
}

/// Begins the copies of a round's first iterations. Gives what the loop's variables begin with, but
/// for parity and slot.
llvm::SmallVector<Value> LoopRing::fill(const Round &round) {
  const auto now = [&](Value value) { return round.outside.lookupOrDefault(value); };
  const LoopBounds bounds(loop_, round.outside);
  llvm::SmallVector<Iteration> firsts;
  const auto firstIteration = [&](int number) {
    while (number >= static_cast<int>(firsts.size())) {
      const int next = static_cast<int>(firsts.size());
      Value exists = next == 0
                         ? arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::slt,
                                                 bounds.lower, bounds.upper)
                               .getResult()
                         : hasIteration(rewriter_, location(), bounds, bounds.lower, next);
      Value before = next == 0 ? round.exists : firsts[0].exists;
      if (before)
        exists = arith::AndIOp::create(rewriter_, location(), before, exists);
      firsts.push_back({next == 0
                            ? bounds.lower
                            : iterationAfter(rewriter_, location(), bounds, bounds.lower, next),
                        exists});
    }
    return firsts[number];
  };
  const LoadsAhead::First addresses =
      addresses_.loadFirst(rewriter_, loop_, round.outside, firstIteration);
  const LoadsAhead::First early = early_.loadFirst(rewriter_, loop_, round.outside, firstIteration);
  llvm::SmallVector<Value> ahead;
  for (const unsigned variable : slice_.variables)
    ahead.push_back(now(loop_.getInitArgs()[variable]));
  Existence exists{round.exists, {}};
  Value slot = round.slot;
  for (int number = 0; number < this->ahead(); ++number) {
    const Iteration iteration = firstIteration(number);
    exists.before = exists.iteration;
    exists.iteration = iteration.exists;
    IRMapping mapping(round.outside);
    addresses_.mapFirst(mapping, addresses, number);
    ahead = makeCopies(iteration.counter, ahead, mapping, slot ? slot : i32(number), exists,
                       /*isBeforeLoop=*/true);
    if (slot)
      slot = nextSlot(slot);
  }
  llvm::append_range(ahead, addresses.variables);
  llvm::append_range(ahead, early.variables);
  return ahead;
}

/// Begins the copies of the next round behind the loop: the slots that they fill are free, as in
/// the loop, for they are those of the iterations before the last one.
void LoopRing::beginNextRound() {
  rewriter_.setInsertionPointAfter(behindLoop());
  Value slot = loop_.getResults().back();
  Value parity = hasParity() ? loop_.getResults().drop_back().back() : Value();
  if (hasDelayed()) {
    endRound(slot, parity);
    if (hasParity())
      parity = nextParity(slot, parity);
    slot = nextSlot(slot);
  }
  const LoopBounds bounds(around_);
  Value counter = around_.getInductionVar();
  Round next;
  next.exists = hasIteration(rewriter_, location(), bounds, counter, 1);
  next.slot = slot;
  IRMapping now;
  nextSlice_.clone(rewriter_, around_, now, {counter, {}});
  llvm::SmallVector<Value> variables;
  for (Value yielded : around_.getYieldedValues())
    variables.push_back(now.lookupOrDefault(yielded));
  makeRound(next, iterationAfter(rewriter_, location(), bounds, counter, 1), variables);
  llvm::SmallVector<Value> yields = fill(next);
  if (hasParity())
    yields.push_back(parity);
  yields.push_back(slot);
  around_.getBody()->getTerminator()->setOperands(firstOfRounds_, yields.size(), yields);
}

/// Behind which op the buffers of the last iterations are free: the loop, or the wait for the
/// delayed dot's last iteration.
Operation *LoopRing::behindLoop() {
  for (const Copy &copy : copies_)
    if (copy.after)
      for (Operation *op = copy.after; op; op = op->getNextNode())
        if (isa<tlg::WgmmaWaitOp>(op))
          return op;
  return loop_;
}

/// Variables for what is computed ahead, for the parity, and for the slot.
void LoopRing::addVariables(ValueRange initial) {
  firstNew_ = loop_.getNumRegionIterArgs();
  loop_ = withVariables(rewriter_, loop_, initial);
  const llvm::SmallVector<Value> added(loop_.getRegionIterArgs().drop_front(firstNew_));
  llvm::ArrayRef<Value> all(added);
  ahead_.assign(all.begin(), all.begin() + slice_.variables.size());
  all = all.drop_front(ahead_.size());
  addresses_.bind(all);
  early_.bind(all);
  slot_ = all.back();
  if (hasParity())
    parity_ = all.front();
}

/// Before which op of an iteration all that it does with the ring begins: its first load, where it
/// stores before (the state that the iteration before has left) and begins copies behind its dots;
/// else its first op. What waits for copies would hold up stores that need none.
Operation *LoopRing::beginOfIteration() {
  Block *body = loop_.getBody();
  const auto first = llvm::find_if(*body, [&](Operation &op) {
    return llvm::any_of(copies_, [&](const Copy &copy) { return copy.load == &op; });
  });
  const bool storesBefore =
      first != body->end() && llvm::any_of(llvm::make_range(body->begin(), first),
                                           [](Operation &op) { return isa<tl::StoreOp>(op); });
  return storesBefore && hasOwnWgmma() ? &*first : &body->front();
}

void LoopRing::rewriteBody() {
  Operation *begin = beginOfIteration();
  rewriter_.setInsertionPointToStart(loop_.getBody());
  hasWgmma_ = loop_.walk([](tlg::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  Value counter = loop_.getInductionVar();
  const LoopBounds bounds(loop_);
  const auto after = [&](int number) {
    return Iteration{iterationAfter(rewriter_, location(), bounds, counter, number),
                     hasIteration(rewriter_, location(), bounds, counter, number)};
  };
  rewriter_.setInsertionPoint(begin);
  waitForSlot(slot_, parity_);
  // Before the dots, not with the copies behind them: the next iteration may need them at once.
  const llvm::SmallVector<Value> early = early_.advance(rewriter_, loop_, after);
  replaceLoads();
  placeCopies();
  Value later = iterationAfter(rewriter_, location(), bounds, counter, ahead());
  Value free = slot_;
  for (int i = ahead(); i < ring_.buffers; ++i)
    free = slotBefore(free);
  Existence exists;
  exists.iteration = hasIteration(rewriter_, location(), bounds, counter, ahead());
  exists.before = hasIteration(rewriter_, location(), bounds, counter, ahead() - 1);
  const llvm::SmallVector<Value> addresses = addresses_.advance(rewriter_, loop_, after);
  IRMapping mapping;
  addresses_.map(mapping);
  llvm::SmallVector<Value> yields =
      makeCopies(later, ahead_, mapping, free, exists, /*isBeforeLoop=*/false);
  refillOneBuffers(mapping, exists);
  llvm::append_range(yields, addresses);
  llvm::append_range(yields, early);
  if (hasParity())
    yields.push_back(nextParity(slot_, parity_));
  yields.push_back(nextSlot(slot_));
  loop_.getBody()->getTerminator()->setOperands(firstNew_, yields.size(), yields);
}

/// Begins the copies into what has one buffer, once all threads have read it, and behind the last
/// dots: before these a thread would hold all that it has read in registers, to be at the barrier.
void LoopRing::refillOneBuffers(IRMapping &mapping, const Existence &exists) {
  if (oneBuffers_.empty())
    return;
  const OpBuilder::InsertionGuard guard(rewriter_);
  Block *body = loop_.getBody();
  Operation *last = nullptr;
  const auto isBehind = [&](Operation *op) { return !last || last->isBeforeInBlock(op); };
  for (Value buffer : oneBuffers_)
    for (Operation *user : buffer.getUsers())
      if (Operation *reader = body->findAncestorOpInBlock(*user); isBehind(reader))
        last = reader;
  for (auto dot : body->getOps<tlg::WgmmaOp>())
    if (isBehind(dot))
      last = dot;
  if (!isBehind(&*rewriter_.getInsertionPoint()))
    rewriter_.setInsertionPointAfter(last);
  meet();
  for (Copy &copy : copies_)
    if (copy.plan->hasOneBuffer)
      makeCopy(copy, mapping, /*slot=*/{}, /*mbarrier=*/{}, exists.iteration);
  endCopies(/*slot=*/{}, exists);
}

/// What nothing is computed from any more: the loads, and what they needed.
void LoopRing::replaceOther() {
  for (Copy &copy : copies_) {
    if (copy.after)
      readAfterLoop(copy);
    rewriter_.eraseOp(copy.load);
  }
  readEarlyLoads();
  eraseUnused();
}

/// What was loaded early is what the iteration uses.
void LoopRing::readEarlyLoads() {
  IRMapping mapping;
  early_.map(mapping);
  for (Operation *load : earlyLoads_)
    rewriter_.replaceAllUsesWith(load->getResult(0), mapping.lookup(load->getResult(0)));
}

/// Erases the loads of addresses that are now made ahead only, with what was computed from them.
void LoopRing::eraseUnused() {
  llvm::SmallPtrSet<Operation *, 32> ops(slice_.ops.begin(), slice_.ops.end());
  addresses_.collect(ops);
  early_.collect(ops);
  Operation *terminator = loop_.getBody()->getTerminator();
  for (auto [i, variable] : llvm::enumerate(loop_.getRegionIterArgs())) // without use
    if (variable.use_empty() && loop_.getResult(i).use_empty())
      terminator->setOperand(i, variable);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop_.getBody())))
    if (ops.contains(&op) && op.use_empty() && (!isa<scf::IfOp>(op) || isOpTriviallyDead(&op)))
      rewriter_.eraseOp(&op);
}

void LoopRing::replaceLoads() {
  for (Copy &copy : copies_) {
    const OpBuilder::InsertionGuard guard(rewriter_);
    Value buffer = stageOf(copy, slot_);
    replaceLoad(rewriter_, copy.load, buffer);
    if (copy.plan->hasOneBuffer)
      oneBuffers_.push_back(buffer);
    isReadByThreads_ |= llvm::any_of(buffer.getUsers(),
                                     [](Operation *user) { return isa<tlg::LocalLoadOp>(user); });
  }
}

/// The delayed dot of the last iteration: its buffer has been filled too.
void LoopRing::readAfterLoop(Copy &copy) {
  rewriter_.setInsertionPoint(copy.after);
  Value slot = loop_.getResults().back();
  waitForSlot(slot, hasParity() ? loop_.getResults().drop_back().back() : Value());
  Value buffer = tlg::StageOp::create(rewriter_, copy.after.getLoc(), copy.buffer, copy.ring, slot);
  replaceLoad(rewriter_, copy.after, buffer);
  rewriter_.eraseOp(copy.after);
}

// -- copies ---------------------------------------------------------------------------------------

/// Begins the copies of the iteration of `counter`, and gives the next one's `ahead`. In the loop
/// those into what has one buffer begin later.
llvm::SmallVector<Value> LoopRing::makeCopies(Value counter, ValueRange ahead, IRMapping &mapping,
                                              Value slot, const Existence &exists,
                                              bool isBeforeLoop) {
  for (auto [variable, value] : llvm::zip(slice_.variables, ahead))
    mapping.map(loop_.getRegionIterArg(variable), value);
  slice_.clone(rewriter_, loop_, mapping, {counter, exists.iteration});
  Value mbarrier = beginCopies(slot, exists);
  for (Copy &copy : copies_)
    if (isBeforeLoop || !copy.plan->hasOneBuffer)
      makeCopy(copy, mapping, slot, mbarrier, copy.after ? exists.before : exists.iteration);
  endCopies(slot, exists);
  llvm::SmallVector<Value> next;
  for (const unsigned variable : slice_.variables)
    next.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[variable]));
  return next;
}

/// The buffer of a slot.
Value LoopRing::stageOf(Copy &copy, Value slot) {
  return tlg::StageOp::create(rewriter_, copy.load.getLoc(), copy.buffer, copy.ring,
                              copy.plan->hasOneBuffer ? i32(0) : slot);
}

void LoopRing::makeCopy(Copy &copy, IRMapping &mapping, Value slot, Value mbarrier,
                        Value predicate) {
  const Location location = copy.load.getLoc();
  const auto now = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value buffer = stageOf(copy, slot);
  if (copy.plan->copy == CopyKind::Tma) {
    TmaAccess access = *tmaAccess(copy.load); // anew: the loop may have been replaced
    if (copy.load->hasAttr(tlg::kSharedByCtasAttribute) && canShareCopies(access, ctas()))
      access.ctas = ctas();
    const auto starts = makeStarts(rewriter_, location, access.tile, now);
    const TensorMapUse map = addTensorMap(loop_->getParentOfType<func::FuncOp>(), access);
    auto made = tlg::TmaLoadOp::create(
        rewriter_, location, buffer, mbarrier, starts, predicate, map.made, map.number,
        access.ctas > 1 ? rewriter_.getI32IntegerAttr(access.ctas) : IntegerAttr());
    if (copiesByWarps())
      made->setAttr(kByWarpsAttribute, rewriter_.getUnitAttr());
    return;
  }
  Value mask = copy.load.getMask() ? now(copy.load.getMask()) : Value();
  auto made = tlg::AsyncCopyOp::create(rewriter_, location, now(copy.load.getPointer()), buffer,
                                       mask, predicate);
  made->setAttr(tlg::kVectorAttribute, copy.load->getAttr(tlg::kVectorAttribute));
  // Masked copies have predicates of their own. Where copies begin a round early, those of the next
  // round may already be on their way to these slots.
  if (predicate && !mask && !around_ && mayFillZeros_) {
    made.setFill(true);
    fillsZeros_ = true;
  }
}

std::pair<int64_t, int64_t> LoopRing::tmaBytes() const {
  int64_t always = 0, delayed = 0;
  for (const Copy &copy : copies_)
    if (copy.plan->copy == CopyKind::Tma)
      (copy.after ? delayed : always) += tlg::sharedLayoutOf(copy.buffer).sizeBytes();
  return {always, delayed};
}

bool LoopRing::hasDelayed() const {
  return llvm::any_of(copies_, [](const Copy &copy) { return copy.after != nullptr; });
}

// -- iterations -----------------------------------------------------------------------------------

Value LoopRing::constant(Type type, int64_t value) {
  return arith::ConstantOp::create(rewriter_, location(), rewriter_.getIntegerAttr(type, value));
}

// -- slots ----------------------------------------------------------------------------------------

Value LoopRing::slotBefore(Value slot) { return stepped(slot, 0, i32(ring_.buffers - 1), -1); }
Value LoopRing::nextSlot(Value slot) { return stepped(slot, ring_.buffers - 1, i32(0), 1); }

/// `slot + step`, or `otherwise` where it is `last`.
Value LoopRing::stepped(Value slot, int last, Value otherwise, int step) {
  Value isLast =
      arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::eq, slot, i32(last));
  Value sum = arith::AddIOp::create(rewriter_, location(), slot, i32(step));
  return arith::SelectOp::create(rewriter_, location(), isLast, otherwise, sum);
}

/// The other one each time that the ring begins anew.
Value LoopRing::nextParity(Value slot, Value parity) {
  Value isLast = arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::eq, slot,
                                       i32(ring_.buffers - 1));
  Value other = arith::XOrIOp::create(rewriter_, location(), parity, i32(1));
  return arith::SelectOp::create(rewriter_, location(), isLast, other, parity);
}

// -- barriers -------------------------------------------------------------------------------------

/// What the ring is made in, in the function's own block; or null.
Operation *LoopRing::outermostOp() {
  Operation *outermost = nullptr;
  for (Operation *outer = whole()->getParentOp(); !isa<func::FuncOp>(outer);
       outer = outer->getParentOp())
    outermost = outer;
  return outermost;
}

/// In a loop they are made anew for every round.
Value LoopRing::makeMbarriers(int arrivals) {
  Operation *outermost = outermostOp();
  const auto type =
      tlg::SharedType::get(rewriter_.getContext(), {1}, rewriter_.getI64Type(), {}, ring_.buffers);
  Value mbarriers;
  {
    const OpBuilder::InsertionGuard guard(rewriter_);
    if (outermost)
      rewriter_.setInsertionPoint(outermost);
    mbarriers = tlg::AllocSharedOp::create(rewriter_, location(), type, IntegerAttr());
    if (outermost)
      tlg::MbarrierInitOp::create(rewriter_, location(), mbarriers, arrivals, /*again=*/false);
  }
  tlg::MbarrierInitOp::create(rewriter_, location(), mbarriers, arrivals,
                              /*again=*/outermost != nullptr);
  return mbarriers;
}

Value LoopRing::mbarrierOf(Value mbarriers, Value slot) {
  const auto ring = cast<tlg::SharedType>(mbarriers.getType());
  const auto one =
      tlg::sharedType(ring.getShape(), ring.getElementType(), tlg::sharedLayoutOf(ring));
  return tlg::StageOp::create(rewriter_, location(), one, mbarriers, slot);
}

void LoopRing::makeFence() {
  auto fence = tlg::FenceAsyncOp::create(rewriter_, location());
  fence.setGlobal(llvm::any_of(copies_, [](const Copy &copy) {
    return copy.plan->copy == CopyKind::Tma && !tmaAccess(copy.load)->tile.argument;
  }));
}

bool LoopRing::placeBehindDots() {
  Block *body = loop_.getBody();
  const int running = keepDotsRunning(rewriter_, loop_);
  if (running == 0) {
    rewriter_.setInsertionPoint(*body->getOps<tlg::WgmmaWaitOp>().begin());
    return false;
  }
  Operation *last = nullptr;
  for (auto dot : body->getOps<tlg::WgmmaOp>())
    last = dot;
  rewriter_.setInsertionPointAfter(last);
  tlg::WgmmaWaitOp::create(rewriter_, location(), TypeRange(), ValueRange(), running);
  return true;
}

} // namespace blockscope::gpu
