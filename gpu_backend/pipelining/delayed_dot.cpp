// Finds the two dots, then moves the second one by an iteration with variables for its operands.
#include "gpu_backend/pipelining/delayed_dot.h"

#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"
#include "gpu_backend/pipelining/async_copy.h"
#include "gpu_backend/pipelining/loop_slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The wait right after a dot, if nothing else uses the dot.
tlg::WgmmaWaitOp waitOf(tlg::WgmmaOp dot) {
  if (!dot->hasOneUse())
    return {};
  auto wait = dyn_cast<tlg::WgmmaWaitOp>(*dot->user_begin());
  return wait && wait->getNumResults() == 1 && wait.getPending() == 0 ? wait : tlg::WgmmaWaitOp();
}

/// What the load's pointer and mask are computed from; nothing if that cannot be made again.
std::optional<LoopSlice> addressOf(scf::ForOp loop, tl::LoadOp load) {
  LoopSlice slice;
  if (slice.add(loop, load.getPointer()) && (!load.getMask() || slice.add(loop, load.getMask())))
    return slice;
  return std::nullopt;
}

/// The second dot's sum is a variable that nothing else needs before.
bool matchSum(scf::ForOp loop, DelayedDot &dot) {
  if (!dot.secondWait->hasOneUse() || !isa<scf::YieldOp>(*dot.secondWait->user_begin()))
    return false;
  dot.variable = dot.secondWait->use_begin()->getOperandNumber();
  Value sum = loop.getRegionIterArg(dot.variable);
  // What is computed from the sum before the dot goes into the dot only.
  llvm::SmallVector<Value> open{sum};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (user == dot.second || dot.sumOps.contains(user))
        continue;
      if (user->getBlock() != loop.getBody() || !isPure(user) || user->getNumResults() != 1 ||
          user->getNumRegions() != 0)
        return false;
      dot.sumOps.insert(user);
      llvm::append_range(open, user->getResults());
    }
  return dot.second.getAcc().getType() == sum.getType() &&
         !llvm::is_contained(ValueRange{dot.second.getA(), dot.second.getB()}, sum) &&
         llvm::none_of(dot.sumOps, [&](Operation *op) {
           return llvm::is_contained(op->getUsers(), dot.second) &&
                  op->getResult(0) != dot.second.getAcc();
         });
}

/// The second operand is loaded in the loop, perhaps transposed, for this dot only.
bool matchLoad(scf::ForOp loop, DelayedDot &dot) {
  Value value = dot.second.getB();
  while (Operation *op = value.getDefiningOp()) {
    if (op->getBlock() != loop.getBody() || !op->hasOneUse())
      return false;
    if ((dot.load = dyn_cast<tl::LoadOp>(op)))
      break;
    if (!isa<tl::TransOp, tlg::ConvertLayoutOp>(op))
      return false;
    dot.views.insert(dot.views.begin(), op);
    value = op->getOperand(0);
  }
  if (!dot.load || !asyncCopyOf(dot.load).buffer)
    return false;
  const std::optional<LoopSlice> address = addressOf(loop, dot.load);
  return address && !address->variables.contains(dot.variable);
}

class DotDelay {
public:
  DotDelay(RewriterBase &rewriter, scf::ForOp loop, const DelayedDot &dot)
      : rewriter_(rewriter), loop_(loop), dot_(dot), address_(*addressOf(loop, dot.load)) {}

  DelayedLoads run() {
    sinkSum();
    addVariables();
    tl::LoadOp inLoop = beginInLoop();
    return {inLoop, endAfterLoop()};
  }

  scf::ForOp loop() const { return loop_; }

private:
  /// What is done with the sum comes last, right before the next iteration.
  void sinkSum() {
    llvm::SmallVector<Operation *> inOrder;
    for (Operation &op : loop_.getBody()->without_terminator())
      if (dot_.sumOps.contains(&op))
        inOrder.push_back(&op);
    for (Operation *op : inOrder)
      op->moveBefore(loop_.getBody()->getTerminator());
  }

  /// Variables for the first operand, and for what the second one's address is computed from.
  void addVariables() {
    tlg::WgmmaOp second = dot_.second;
    rewriter_.setInsertionPoint(loop_);
    const auto type = cast<RankedTensorType>(second.getA().getType());
    llvm::SmallVector<Value> initial{
        arith::ConstantOp::create(rewriter_, second.getLoc(), rewriter_.getZeroAttr(type)),
        loop_.getLowerBound()};
    for (const unsigned variable : address_.variables)
      initial.push_back(loop_.getInitArgs()[variable]);
    for (Operation *load : address_.loads)
      initial.push_back(zeroOf(load->getResult(0).getType()));
    firstNew_ = loop_.getNumRegionIterArgs();
    auto made = loop_.replaceWithAdditionalYields(
        rewriter_, initial, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
          return llvm::SmallVector<Value>(arguments.begin(), arguments.end());
        });
    loop_ = cast<scf::ForOp>(made->getOperation());
    llvm::SmallVector<Value> yields{second.getA(), loop_.getInductionVar()};
    for (const unsigned variable : address_.variables)
      yields.push_back(loop_.getRegionIterArg(variable));
    for (Operation *load : address_.loads)
      yields.push_back(load->getResult(0));
    Operation *terminator = loop_.getBody()->getTerminator();
    terminator->setOperands(firstNew_, yields.size(), yields);
    terminator->setOperand(dot_.variable, second.getAcc());
  }

  /// What stands for a loaded number or pointer before the first iteration.
  Value zeroOf(Type type) {
    const Type element = getElementTypeOrSelf(type);
    const auto pointer = dyn_cast<tl::PtrType>(element);
    const Type integer = pointer ? rewriter_.getI64Type() : element;
    auto shaped = dyn_cast<RankedTensorType>(type);
    const Type plain = shaped ? Type(shaped.clone(integer)) : integer;
    Value zero = arith::ConstantOp::create(rewriter_, loop_.getLoc(),
                                           cast<TypedAttr>(rewriter_.getZeroAttr(plain)));
    return pointer ? tl::IntToPtrOp::create(rewriter_, loop_.getLoc(), type, zero).getResult()
                   : zero;
  }

  /// Loads what the iteration of `variables` (the counter, then those of the address) would have,
  /// where `condition` holds, and gives it the form of the dot's operand.
  std::pair<tl::LoadOp, Value> makeLoad(ValueRange variables, Value condition) {
    tl::LoadOp source = dot_.load;
    IRMapping mapping;
    for (auto [variable, value] : llvm::zip(address_.variables, variables.drop_front()))
      mapping.map(loop_.getRegionIterArg(variable), value);
    for (auto [load, value] :
         llvm::zip(address_.loads, variables.drop_front(1 + address_.variables.size())))
      mapping.map(load->getResult(0), value);
    address_.clone(rewriter_, loop_, mapping, {variables.front(), condition});
    const auto pointerType = cast<RankedTensorType>(source.getPointer().getType());
    const auto maskType = RankedTensorType::get(pointerType.getShape(), rewriter_.getI1Type(),
                                                pointerType.getEncoding());
    Value mask = tl::SplatOp::create(rewriter_, source.getLoc(), maskType, condition);
    if (source.getMask())
      mask = arith::AndIOp::create(rewriter_, source.getLoc(), mask,
                                   mapping.lookupOrDefault(source.getMask()));
    auto load = tl::LoadOp::create(rewriter_, source.getLoc(), source.getType(),
                                   mapping.lookupOrDefault(source.getPointer()), mask, Value(),
                                   source.getCacheModifierAttr(), source.getEvictionPolicyAttr(),
                                   source.getIsVolatileAttr());
    for (const llvm::StringRef name :
         {tlg::kVectorAttribute, tlg::kEqualRunsAttribute, tlg::kDescribedAttribute, kTmaAttribute})
      if (Attribute value = source->getAttr(name))
        load->setAttr(name, value);
    Value operand = load.getResult();
    for (Operation *view : dot_.views) {
      mapping.map(view->getOperand(0), operand);
      operand = rewriter_.clone(*view, mapping)->getResult(0);
    }
    return {load, operand};
  }

  Value makeDot(Value a, Value b, Value sum) {
    auto dot = cast<tlg::WgmmaOp>(rewriter_.clone(*dot_.second));
    dot->setOperands({a, b, sum});
    return dot.getResult();
  }

  tl::LoadOp beginInLoop() {
    tlg::WgmmaOp first = dot_.first, second = dot_.second;
    const Location location = second.getLoc();
    Value a = loop_.getRegionIterArg(firstNew_), sum = loop_.getRegionIterArg(dot_.variable);
    rewriter_.setInsertionPointToStart(loop_.getBody());
    Value isLater = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::ne,
                                          loop_.getInductionVar(), loop_.getLowerBound());
    rewriter_.setInsertionPoint(first);
    auto [load, operand] = makeLoad(variables(loop_.getRegionIterArgs()), isLater);
    rewriter_.setInsertionPointAfter(first);
    Value running = makeDot(a, operand, sum);
    tlg::WgmmaWaitOp(dot_.firstWait).setPending(1);
    // The first operand is read until the dot is complete.
    Operation *use = dot_.sumOps.empty() ? loop_.getBody()->getTerminator() : nullptr;
    for (Operation &op : *loop_.getBody())
      if (!use && dot_.sumOps.contains(&op))
        use = &op;
    rewriter_.setInsertionPoint(use);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, location, TypeRange{sum.getType(), a.getType()},
                                         ValueRange{running, a}, 0);
    rewriter_.replaceAllUsesExcept(sum, wait->getResult(0), running.getDefiningOp());
    if (dot_.exponential)
      mixWithExponentials(wait);
    else
      sinkCast(wait);
    rewriter_.eraseOp(dot_.secondWait);
    return load;
  }

  /// Moves the wait before the exponentials, and behind it, as far up as it can be, what is done
  /// with the sum.
  void mixWithExponentials(Operation *wait) {
    rewriter_.moveOpBefore(wait, dot_.exponential);
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : *loop_.getBody())
      if (dot_.sumOps.contains(&op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      Operation *last = wait;
      for (Value operand : op->getOperands())
        if (Operation *made = operand.getDefiningOp();
            made && made->getBlock() == loop_.getBody() && last->isBeforeInBlock(made))
          last = made;
      rewriter_.moveOpAfter(op, last);
    }
  }

  /// Makes the next iteration's first operand narrow only after the wait: then it can have the
  /// registers that this iteration's dot read.
  void sinkCast(Operation *wait) {
    tlg::WgmmaOp second = dot_.second;
    Operation *cast = second.getA().getDefiningOp();
    while (cast && isa<tl::FpCastOp, tlg::ConvertLayoutOp>(cast) &&
           llvm::all_of(cast->getUsers(), [&](Operation *user) {
             return user == second || isa<scf::YieldOp>(user) ||
                    (user->getBlock() == cast->getBlock() && wait->isBeforeInBlock(user));
           })) {
      rewriter_.moveOpAfter(cast, wait);
      cast = cast->getOperand(0).getDefiningOp();
    }
  }

  tl::LoadOp endAfterLoop() {
    const Location location = loop_.getLoc();
    rewriter_.setInsertionPointAfter(loop_);
    Value isEntered = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::slt,
                                            loop_.getLowerBound(), loop_.getUpperBound());
    auto [load, operand] = makeLoad(variables(loop_.getResults()), isEntered);
    Value sum = loop_.getResult(dot_.variable);
    Value running = makeDot(loop_.getResult(firstNew_), operand, sum);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, location, TypeRange(sum.getType()), running, 0);
    rewriter_.replaceAllUsesExcept(sum, wait->getResult(0), running.getDefiningOp());
    rewriter_.eraseOp(dot_.second);
    for (Operation *view : llvm::reverse(dot_.views))
      rewriter_.eraseOp(view);
    rewriter_.eraseOp(dot_.load);
    return load;
  }

  /// Of the loop's variables or results: the counter of the iteration before, and the address's.
  ValueRange variables(ValueRange all) const {
    return all.slice(firstNew_ + 1, address_.variables.size() + address_.loads.size() + 1);
  }

  RewriterBase &rewriter_;
  scf::ForOp loop_;
  const DelayedDot &dot_;
  LoopSlice address_;
  unsigned firstNew_ = 0; ///< of the loop's variables
};

/// The first exponential between the dots of what becomes the second one's first operand, where
/// the sum has at least twice as many elements.
Operation *exponentialBetween(tlg::WgmmaWaitOp firstWait, tlg::WgmmaOp second) {
  const auto operand = cast<RankedTensorType>(second.getA().getType());
  if (cast<RankedTensorType>(second.getType()).getNumElements() < 2 * operand.getNumElements())
    return nullptr;
  for (Operation *op = firstWait; op && op != second; op = op->getNextNode())
    if (isa<math::ExpOp, math::Exp2Op>(op))
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
          type && type.getShape() == operand.getShape())
        return op;
  return nullptr;
}

/// Whether a first operand is loaded as it is: such dots begin together.
bool isLoaded(Value operand) {
  Operation *op = operand.getDefiningOp();
  while (isa_and_nonnull<tl::TransOp, tlg::ConvertLayoutOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tl::LoadOp>(op);
}

} // namespace

std::optional<DelayedDot> matchDelayedDot(scf::ForOp loop) {
  llvm::SmallVector<tlg::WgmmaOp> dots(loop.getBody()->getOps<tlg::WgmmaOp>());
  if (dots.size() != 2 || loop.getUnsignedCmp())
    return std::nullopt;
  DelayedDot dot;
  dot.first = dots[0];
  dot.second = dots[1];
  dot.firstWait = waitOf(dot.first);
  dot.secondWait = waitOf(dot.second);
  // A dot that is added up part by part waits for each of them where it stands.
  const bool matches = dot.firstWait && dot.secondWait && !dot.second.getMaxNumImpreciseAcc() &&
                       dot.firstWait->getBlock() == loop.getBody() &&
                       tlg::hasLayout(dot.second.getA().getType()) &&
                       !isLoaded(dot.second.getA()) && matchSum(loop, dot) && matchLoad(loop, dot);
  if (!matches)
    return std::nullopt;
  if (!dot.sumOps.empty())
    dot.exponential = exponentialBetween(dot.firstWait, dot.second);
  return dot;
}

DelayedLoads delayDot(RewriterBase &rewriter, scf::ForOp &loop, const DelayedDot &dot) {
  DotDelay delay(rewriter, loop, dot);
  const DelayedLoads loads = delay.run();
  loop = delay.loop();
  return loads;
}

} // namespace blockscope::gpu
