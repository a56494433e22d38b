// The skeleton of a pipelined loop.
#include "gpu_backend/pipelining/loop_ring.h"

#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscope::gpu {

LoopRing::LoopRing(const LoopPlan &plan)
    : plan_(plan), ring_(plan.rings.front()), loop_(cast<scf::ForOp>(plan.loop)), rewriter_(loop_) {
}

LoopRing::~LoopRing() = default;

LogicalResult LoopRing::write() {
  if (failed(findCopies()))
    return failure();
  rewriter_.setInsertionPoint(loop_);
  allocate();
  makeBarriers();
  fillFirst();
  addVariables();
  rewriteBody();
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

void LoopRing::allocate() {
  for (Copy &copy : copies_)
    copy.ring = tlg::AllocSharedOp::create(
        rewriter_, copy.load.getLoc(),
        tlg::SharedType::get(rewriter_.getContext(), copy.buffer.getShape(),
                             copy.buffer.getElementType(), copy.buffer.getOffsets(), ring_.buffers),
        IntegerAttr());
  if (loop_->getParentOfType<scf::ForOp>() || loop_->getParentOfType<scf::WhileOp>())
    tl::BarrierOp::create(rewriter_, location()); // the round before may still be read
}

void LoopRing::fillFirst() {
  for (const unsigned variable : slice_.variables)
    ahead_.push_back(loop_.getInitArgs()[variable]);
  firsts_.clear();
  addresses_.loadFirst(rewriter_, loop_, [&](int number) { return firstIteration(number); });
  early_.loadFirst(rewriter_, loop_, [&](int number) { return firstIteration(number); });
  Existence exists;
  for (int slot = 0; slot < ahead(); ++slot) {
    const Iteration iteration = firstIteration(slot);
    exists.before = exists.iteration;
    exists.iteration = iteration.exists;
    IRMapping mapping;
    addresses_.mapFirst(mapping, slot);
    ahead_ = makeCopies(iteration.counter, ahead_, mapping, i32(slot), exists);
  }
}

/// The iteration of this number, counted from the first one, before the loop.
Iteration LoopRing::firstIteration(int number) {
  while (number >= static_cast<int>(firsts_.size())) {
    Value first = loop_.getLowerBound();
    if (firsts_.empty()) {
      firsts_.push_back(
          {first, arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::slt, first,
                                        loop_.getUpperBound())});
      continue;
    }
    const int next = static_cast<int>(firsts_.size());
    Value exists =
        arith::AndIOp::create(rewriter_, location(), firsts_[0].exists, hasIteration(first, next));
    firsts_.push_back({iterationAfter(first, next), exists});
  }
  return firsts_[number];
}

/// Variables for what is computed ahead, for the parity, and for the slot.
void LoopRing::addVariables() {
  llvm::SmallVector<Value> initial(ahead_);
  llvm::append_range(initial, addresses_.variables());
  llvm::append_range(initial, early_.variables());
  if (hasParity())
    initial.push_back(i32(0));
  initial.push_back(i32(0));
  firstNew_ = loop_.getNumRegionIterArgs();
  auto made = loop_.replaceWithAdditionalYields(
      rewriter_, initial, /*replaceInitOperandUsesInLoop=*/false,
      [](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
        return llvm::SmallVector<Value>(arguments.begin(), arguments.end());
      });
  loop_ = cast<scf::ForOp>(made->getOperation());
  const llvm::SmallVector<Value> added(loop_.getRegionIterArgs().drop_front(firstNew_));
  llvm::ArrayRef<Value> all(added);
  ahead_.assign(all.begin(), all.begin() + ahead_.size());
  all = all.drop_front(ahead_.size());
  addresses_.bind(all);
  early_.bind(all);
  slot_ = all.back();
  if (hasParity())
    parity_ = all.front();
}

void LoopRing::rewriteBody() {
  rewriter_.setInsertionPointToStart(loop_.getBody());
  hasWgmma_ = loop_.walk([](tlg::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  waitForSlot(slot_, parity_);
  replaceLoads();
  placeCopies();
  Value counter = loop_.getInductionVar();
  Value later = iterationAfter(counter, ahead());
  Value free = freeSlot();
  Existence exists;
  exists.iteration = hasIteration(counter, ahead());
  exists.before = hasIteration(counter, ahead() - 1);
  const auto after = [&](int number) {
    return Iteration{iterationAfter(counter, number), hasIteration(counter, number)};
  };
  const llvm::SmallVector<Value> addresses = addresses_.advance(rewriter_, loop_, after);
  const llvm::SmallVector<Value> early = early_.advance(rewriter_, loop_, after);
  IRMapping mapping;
  addresses_.map(mapping);
  llvm::SmallVector<Value> yields = makeCopies(later, ahead_, mapping, free, exists);
  llvm::append_range(yields, addresses);
  llvm::append_range(yields, early);
  if (hasParity())
    yields.push_back(nextParity());
  yields.push_back(nextSlot());
  loop_.getBody()->getTerminator()->setOperands(firstNew_, yields.size(), yields);
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
    Value buffer =
        tlg::StageOp::create(rewriter_, copy.load.getLoc(), copy.buffer, copy.ring, slot_);
    replaceLoad(rewriter_, copy.load, buffer);
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

/// Begins all copies of the iteration of `counter`, and gives the next one's `ahead`.
llvm::SmallVector<Value> LoopRing::makeCopies(Value counter, ValueRange ahead, IRMapping &mapping,
                                              Value slot, const Existence &exists) {
  for (auto [variable, value] : llvm::zip(slice_.variables, ahead))
    mapping.map(loop_.getRegionIterArg(variable), value);
  slice_.clone(rewriter_, loop_, mapping, {counter, exists.iteration});
  Value mbarrier = beginCopies(slot, exists);
  for (Copy &copy : copies_)
    makeCopy(copy, mapping, slot, mbarrier, copy.after ? exists.before : exists.iteration);
  endCopies(slot, exists);
  llvm::SmallVector<Value> next;
  for (const unsigned variable : slice_.variables)
    next.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[variable]));
  return next;
}

void LoopRing::makeCopy(Copy &copy, IRMapping &mapping, Value slot, Value mbarrier,
                        Value predicate) {
  const Location location = copy.load.getLoc();
  const auto now = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value buffer = tlg::StageOp::create(rewriter_, location, copy.buffer, copy.ring, slot);
  if (copy.plan->copy == CopyKind::Tma) {
    const TmaAccess access = *tmaAccess(copy.load); // anew: the loop may have been replaced
    const auto starts = makeStarts(rewriter_, location, access.tile, now);
    const TensorMapUse map = addTensorMap(loop_->getParentOfType<func::FuncOp>(), access);
    auto made = tlg::TmaLoadOp::create(rewriter_, location, buffer, mbarrier, starts, predicate,
                                       map.made, map.number);
    if (copiesByWarps())
      made->setAttr(kByWarpsAttribute, rewriter_.getUnitAttr());
    return;
  }
  Value mask = copy.load.getMask() ? now(copy.load.getMask()) : Value();
  auto made = tlg::AsyncCopyOp::create(rewriter_, location, now(copy.load.getPointer()), buffer,
                                       mask, predicate);
  made->setAttr(tlg::kVectorAttribute, copy.load->getAttr(tlg::kVectorAttribute));
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

/// Whether there is an iteration so many after the one that begins at `at`, which exists.
Value LoopRing::hasIteration(Value at, int iterations) {
  Value left = loop_.getUpperBound(), step = loop_.getStep();
  Type wide = rewriter_.getI64Type();
  const auto widened = [&](Value value) -> Value {
    if (value.getType() == wide || value.getType().isIndex())
      return value;
    return arith::ExtSIOp::create(rewriter_, location(), wide, value);
  };
  // A constant step cannot overflow, other steps are multiplied in 64 bits.
  llvm::APInt known;
  const bool isSmall = matchPattern(step, m_ConstantInt(&known)) && known.ult(1 << 20);
  if (!isSmall) {
    left = widened(left);
    at = widened(at);
    step = widened(step);
  }
  left = arith::SubIOp::create(rewriter_, location(), left, at);
  Value needed = isSmall ? constant(step.getType(), known.getSExtValue() * iterations)
                         : arith::MulIOp::create(rewriter_, location(), step,
                                                 constant(step.getType(), iterations))
                               .getResult();
  return arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::ugt, left, needed);
}

Value LoopRing::iterationAfter(Value at, int iterations) {
  Value distance = arith::MulIOp::create(rewriter_, location(), loop_.getStep(),
                                         constant(loop_.getStep().getType(), iterations));
  return arith::AddIOp::create(rewriter_, location(), at, distance);
}

// -- slots ----------------------------------------------------------------------------------------

Value LoopRing::freeSlot() { return stepped(slot_, 0, i32(ring_.buffers - 1), -1); }
Value LoopRing::nextSlot() { return stepped(slot_, ring_.buffers - 1, i32(0), 1); }

/// `slot + step`, or `otherwise` where it is `last`.
Value LoopRing::stepped(Value slot, int last, Value otherwise, int step) {
  Value isLast =
      arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::eq, slot, i32(last));
  Value sum = arith::AddIOp::create(rewriter_, location(), slot, i32(step));
  return arith::SelectOp::create(rewriter_, location(), isLast, otherwise, sum);
}

/// The other one each time that the ring begins anew.
Value LoopRing::nextParity() {
  Value isLast = arith::CmpIOp::create(rewriter_, location(), arith::CmpIPredicate::eq, slot_,
                                       i32(ring_.buffers - 1));
  Value other = arith::XOrIOp::create(rewriter_, location(), parity_, i32(1));
  return arith::SelectOp::create(rewriter_, location(), isLast, other, parity_);
}

// -- barriers -------------------------------------------------------------------------------------

/// What the loop is in, in the function's own block; or null.
Operation *LoopRing::outermostOp() {
  Operation *outermost = nullptr;
  for (Operation *outer = loop_->getParentOp(); !isa<func::FuncOp>(outer);
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
  tl::BarrierOp::create(rewriter_, location());
  return true;
}

} // namespace blockscope::gpu
