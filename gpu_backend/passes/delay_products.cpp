// Finds the two products, then moves the second one by one turn with variables for its operands.
#include "gpu_backend/passes/delay_products.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/loop_slice.h"
#include "gpu_backend/passes/shared_operands.h"
#include "gpu_backend/passes/tma_access.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The wait right after a product, if nothing else uses the product.
tlg::WgmmaWaitOp waitOf(tlg::WgmmaOp product) {
  if (!product->hasOneUse())
    return {};
  auto wait = dyn_cast<tlg::WgmmaWaitOp>(*product->user_begin());
  return wait && wait->getNumResults() == 1 && wait.getPending() == 0 ? wait : tlg::WgmmaWaitOp();
}

class ProductDelay {
public:
  ProductDelay(RewriterBase &rewriter, scf::ForOp loop) : rewriter_(rewriter), loop_(loop) {}

  bool match() {
    llvm::SmallVector<tlg::WgmmaOp> products(loop_.getBody()->getOps<tlg::WgmmaOp>());
    if (products.size() != 2 || loop_.getUnsignedCmp())
      return false;
    first_ = products[0];
    second_ = products[1];
    firstWait_ = waitOf(first_);
    secondWait_ = waitOf(second_);
    return firstWait_ && secondWait_ && firstWait_->getBlock() == loop_.getBody() &&
           tlg::hasLayout(second_.getA().getType()) && matchSum() && matchLoad();
  }

  DelayedLoad rewrite() {
    sinkSum();
    addVariables();
    beginInLoop();
    return {delayed_, endAfterLoop()};
  }

  scf::ForOp loop() const { return loop_; }

private:
  /// The second product's sum is a variable that nothing else needs before.
  bool matchSum() {
    if (!secondWait_->hasOneUse() || !isa<scf::YieldOp>(*secondWait_->user_begin()))
      return false;
    variable_ = secondWait_->use_begin()->getOperandNumber();
    Value sum = loop_.getRegionIterArg(variable_);
    // What is computed from the sum before the product goes into the product only.
    llvm::SmallVector<Value> open{sum};
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        if (user == second_ || sumOps_.contains(user))
          continue;
        if (user->getBlock() != loop_.getBody() || !isPure(user) || user->getNumResults() != 1 ||
            user->getNumRegions() != 0)
          return false;
        sumOps_.insert(user);
        llvm::append_range(open, user->getResults());
      }
    return second_.getAcc().getType() == sum.getType() &&
           !llvm::is_contained(ValueRange{second_.getA(), second_.getB()}, sum) &&
           llvm::none_of(sumOps_, [&](Operation *op) {
             return llvm::is_contained(op->getUsers(), second_) &&
                    op->getResult(0) != second_.getAcc();
           });
  }

  /// The second operand is loaded in the loop, perhaps transposed, for this product only.
  bool matchLoad() {
    Value value = second_.getB();
    while (Operation *op = value.getDefiningOp()) {
      if (op->getBlock() != loop_.getBody() || !op->hasOneUse())
        return false;
      if ((load_ = dyn_cast<tl::LoadOp>(op)))
        break;
      if (!isa<tl::TransOp, tlg::ConvertLayoutOp>(op))
        return false;
      views_.insert(views_.begin(), op);
      value = op->getOperand(0);
    }
    return load_ && sharedForLoad(load_) && address_.add(loop_, load_.getPointer()) &&
           (!load_.getMask() || address_.add(loop_, load_.getMask())) &&
           !address_.variables.contains(variable_);
  }

  /// What is done with the sum comes last, right before the next turn.
  void sinkSum() {
    llvm::SmallVector<Operation *> inOrder;
    for (Operation &op : loop_.getBody()->without_terminator())
      if (sumOps_.contains(&op))
        inOrder.push_back(&op);
    for (Operation *op : inOrder)
      op->moveBefore(loop_.getBody()->getTerminator());
  }

  /// Variables for the first operand, and for what the second one's address is computed from.
  void addVariables() {
    rewriter_.setInsertionPoint(loop_);
    const auto type = cast<RankedTensorType>(second_.getA().getType());
    llvm::SmallVector<Value> initial{
        arith::ConstantOp::create(rewriter_, second_.getLoc(), rewriter_.getZeroAttr(type)),
        loop_.getLowerBound()};
    for (const unsigned variable : address_.variables)
      initial.push_back(loop_.getInitArgs()[variable]);
    firstNew_ = loop_.getNumRegionIterArgs();
    auto made = loop_.replaceWithAdditionalYields(
        rewriter_, initial, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
          return llvm::SmallVector<Value>(arguments.begin(), arguments.end());
        });
    loop_ = cast<scf::ForOp>(made->getOperation());
    llvm::SmallVector<Value> yields{second_.getA(), loop_.getInductionVar()};
    for (const unsigned variable : address_.variables)
      yields.push_back(loop_.getRegionIterArg(variable));
    Operation *terminator = loop_.getBody()->getTerminator();
    terminator->setOperands(firstNew_, yields.size(), yields);
    terminator->setOperand(variable_, second_.getAcc());
  }

  /// Loads what the turn of `variables` (the counter, then those of the address) would have, where
  /// `condition` holds, and gives it the form of the product's operand.
  std::pair<tl::LoadOp, Value> makeLoad(ValueRange variables, Value condition) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), variables.front());
    for (auto [variable, value] : llvm::zip(address_.variables, variables.drop_front()))
      mapping.map(loop_.getRegionIterArg(variable), value);
    address_.clone(rewriter_, loop_, mapping);
    const auto pointerType = cast<RankedTensorType>(load_.getPointer().getType());
    const auto maskType = RankedTensorType::get(pointerType.getShape(), rewriter_.getI1Type(),
                                                pointerType.getEncoding());
    Value mask = tl::SplatOp::create(rewriter_, load_.getLoc(), maskType, condition);
    if (load_.getMask())
      mask = arith::AndIOp::create(rewriter_, load_.getLoc(), mask,
                                   mapping.lookupOrDefault(load_.getMask()));
    auto load = tl::LoadOp::create(rewriter_, load_.getLoc(), load_.getType(),
                                   mapping.lookupOrDefault(load_.getPointer()), mask, Value(),
                                   load_.getCacheModifierAttr(), load_.getEvictionPolicyAttr(),
                                   load_.getIsVolatileAttr());
    for (const llvm::StringRef name : {tlg::kVectorAttribute, kTmaAttribute})
      if (Attribute value = load_->getAttr(name))
        load->setAttr(name, value);
    Value operand = load.getResult();
    for (Operation *view : views_) {
      mapping.map(view->getOperand(0), operand);
      operand = rewriter_.clone(*view, mapping)->getResult(0);
    }
    return {load, operand};
  }

  Value makeProduct(Value a, Value b, Value sum) {
    return tlg::WgmmaOp::create(rewriter_, second_.getLoc(), sum.getType(), a, b, sum,
                                second_.getOperandBytesAttr(), second_.getWarpsAttr(),
                                second_.getInputPrecisionAttr(), second_.getAUnsignedAttr(),
                                second_.getBUnsignedAttr(), second_.getMaxNumImpreciseAccAttr());
  }

  void beginInLoop() {
    const Location location = second_.getLoc();
    Value a = loop_.getRegionIterArg(firstNew_), sum = loop_.getRegionIterArg(variable_);
    rewriter_.setInsertionPointToStart(loop_.getBody());
    Value isLater = arith::CmpIOp::create(rewriter_, location, arith::CmpIPredicate::ne,
                                          loop_.getInductionVar(), loop_.getLowerBound());
    rewriter_.setInsertionPoint(first_);
    auto [load, operand] = makeLoad(variables(loop_.getRegionIterArgs()), isLater);
    delayed_ = load;
    rewriter_.setInsertionPointAfter(first_);
    Value running = makeProduct(a, operand, sum);
    firstWait_.setPending(1);
    // The first operand is read until the product is complete.
    Operation *use = sumOps_.empty() ? loop_.getBody()->getTerminator() : nullptr;
    for (Operation &op : *loop_.getBody())
      if (!use && sumOps_.contains(&op))
        use = &op;
    rewriter_.setInsertionPoint(use);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, location, TypeRange{sum.getType(), a.getType()},
                                         ValueRange{running, a}, 0);
    rewriter_.replaceAllUsesExcept(sum, wait->getResult(0), running.getDefiningOp());
    sinkCast(wait);
    rewriter_.eraseOp(secondWait_);
    rewriter_.eraseOp(second_);
  }

  /// Makes the next turn's first operand narrow only after the wait: then it can have the registers
  /// that this turn's product read.
  void sinkCast(Operation *wait) {
    Operation *cast = second_.getA().getDefiningOp();
    while (cast && isa<tl::FpCastOp, tlg::ConvertLayoutOp>(cast) &&
           llvm::all_of(cast->getUsers(), [&](Operation *user) {
             return user == second_ || isa<scf::YieldOp>(user) ||
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
    Value sum = loop_.getResult(variable_);
    Value running = makeProduct(loop_.getResult(firstNew_), operand, sum);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, location, TypeRange(sum.getType()), running, 0);
    rewriter_.replaceAllUsesExcept(sum, wait->getResult(0), running.getDefiningOp());
    for (Operation *view : llvm::reverse(views_))
      rewriter_.eraseOp(view);
    rewriter_.eraseOp(load_);
    return load;
  }

  /// Of the loop's variables or results: the counter of the turn before, and the address's.
  ValueRange variables(ValueRange all) const {
    return all.slice(firstNew_ + 1, address_.variables.size() + 1);
  }

  RewriterBase &rewriter_;
  scf::ForOp loop_;
  tlg::WgmmaOp first_, second_;
  tlg::WgmmaWaitOp firstWait_, secondWait_;
  unsigned variable_ = 0;                    ///< the one that holds the sum
  llvm::SmallPtrSet<Operation *, 8> sumOps_; ///< what is done with it before it is added to
  tl::LoadOp load_, delayed_;                ///< of the second operand
  llvm::SmallVector<Operation *> views_;     ///< from the load to the product
  LoopSlice address_;
  unsigned firstNew_ = 0;
};

} // namespace

std::optional<DelayedLoad> delayProduct(RewriterBase &rewriter, scf::ForOp &loop) {
  ProductDelay delay(rewriter, loop);
  if (!delay.match())
    return std::nullopt;
  const DelayedLoad load = delay.rewrite();
  loop = delay.loop();
  return load;
}

} // namespace blockscope::gpu
