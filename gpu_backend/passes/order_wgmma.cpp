// Moves dots up and waits down within their block, then counts what each wait leaves running.
#include "gpu_backend/passes/order_wgmma.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/live_words.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/IR/PatternMatch.h"

#include <optional>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Whether shared memory may be written, or be free to be written, once `op` is done: no dot that
/// reads it begins before it or is waited for after it.
bool changesShared(Operation *op) {
  if (isa<tlg::AsyncCopyOp, tlg::AsyncCommitOp, tlg::AsyncArriveOp, tlg::TmaLoadOp,
          tlg::MbarrierExpectOp>(op))
    return false; // into buffers that no dot of this iteration reads
  return op->getNumRegions() != 0
             ? !isPure(op)
             : isa<tl::BarrierOp>(op) ||
                   (isa_and_nonnull<tlg::TLGDialect>(op->getDialect()) && !isPure(op) &&
                    !isa<tlg::WgmmaOp, tlg::WgmmaWaitOp, tlg::MmaOp, tlg::LocalLoadOp>(op));
}

struct Dot {
  tlg::WgmmaOp begin;
  tlg::WgmmaWaitOp wait;
};

/// Whether ptxas keeps what is computed before `op` before it, and what comes after it after it.
bool partsCode(Operation *op) {
  return isa<tlg::WgmmaOp, tlg::WgmmaWaitOp, tlg::ConvertLayoutOp, tl::BarrierOp, tl::ReduceOp>(op);
}

class BlockOrder {
public:
  /// `mostWords`: the registers that a thread has for blocks.
  BlockOrder(Block *block, int mostWords)
      : block_(block), rewriter_(block->getParentOp()), mostWords_(mostWords) {}

  void run() {
    if (!findDots())
      return;
    beginFirst();
    for (size_t i = 1; i < dots_.size(); ++i)
      beginEarly(i);
    for (size_t i = dots_.size(); dots_.size() > 1 && i-- > 0;) {
      Dot &dot = dots_[i];
      const std::optional<size_t> later = waitLate(i);
      dot.wait.setPending(later ? dots_[*later].wait.getPending() : countRunning(dot));
    }
    relieve();
  }

private:
  /// Dots, each with a wait of its own that leaves nothing running.
  bool findDots() {
    for (auto dot : block_->getOps<tlg::WgmmaOp>()) {
      auto wait =
          dot->hasOneUse() ? dyn_cast<tlg::WgmmaWaitOp>(*dot->user_begin()) : tlg::WgmmaWaitOp();
      if (!wait || wait->getBlock() != block_ || wait->getNumOperands() != 1 ||
          wait.getPending() != 0)
        return false;
      dots_.push_back({dot, wait});
    }
    return !dots_.empty();
  }

  /// Moves the first dot up, with the views that it needs, before conversions of layouts that it
  /// does not need: their barriers would keep the tensor cores waiting.
  void beginFirst() {
    tlg::WgmmaOp dot = dots_.front().begin;
    llvm::SmallPtrSet<Operation *, 8> needed;
    const auto need = [&](Operation *op) {
      for (Value operand : op->getOperands())
        needed.insert(operand.getDefiningOp());
    };
    need(dot);
    llvm::SmallVector<Operation *> moved{dot};
    bool passes = false;
    Operation *place = dot->getPrevNode();
    for (; place && !changesShared(place); place = place->getPrevNode()) {
      if (!needed.contains(place)) {
        passes |= isa<tlg::ConvertLayoutOp>(place);
        continue;
      }
      if (!isView(place))
        break;
      need(place);
      moved.push_back(place);
    }
    if (!place || !passes)
      return;
    for (Operation *op : llvm::reverse(moved)) {
      rewriter_.moveOpAfter(op, place);
      place = op;
    }
  }

  static bool isView(Operation *op) {
    return isa<tlg::StageOp, tlg::TransSharedOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
  }

  /// Moves dot `i` up behind the first one before it behind which its operands are there.
  void beginEarly(size_t i) {
    tlg::WgmmaOp dot = dots_[i].begin;
    llvm::SmallVector<Operation *> views; // made in the block, for this dot
    for (size_t before = 0; before < i; ++before) {
      Operation *place = dots_[before].begin;
      views.clear();
      if (!isFreeBetween(place, dot) || !llvm::all_of(dot->getOperands(), [&](Value operand) {
            return canCome(operand, place, views);
          }))
        continue;
      for (Operation *view : views) {
        rewriter_.moveOpAfter(view, place);
        place = view;
      }
      rewriter_.moveOpAfter(dot, place);
      std::rotate(dots_.begin() + before + 1, dots_.begin() + i, dots_.begin() + i + 1);
      return;
    }
  }

  static bool isFreeBetween(Operation *from, Operation *to) {
    for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
      if (changesShared(op))
        return false;
    return true;
  }

  /// Whether `value` is there behind `place`, or is one of a few views that can be moved there;
  /// gives these in order.
  bool canCome(Value value, Operation *place, llvm::SmallVector<Operation *> &views) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block_ || op->isBeforeInBlock(place))
      return true;
    if (llvm::is_contained(views, op))
      return true;
    if (!isView(op))
      return false;
    if (!llvm::all_of(op->getOperands(),
                      [&](Value operand) { return canCome(operand, place, views); }))
      return false;
    views.push_back(op);
    return true;
  }

  /// Moves the wait of dot `i` down, to where its sums are used, or the wait for a dot that began
  /// later: that waits for this one as well, so its operand's registers are free there. Gives the
  /// later dot.
  std::optional<size_t> waitLate(size_t i) {
    Dot &dot = dots_[i];
    std::optional<size_t> later;
    Operation *place = dot.wait->getNextNode();
    while (!place->hasTrait<OpTrait::IsTerminator>() && !changesShared(place) &&
           !uses(place, dot.wait) && !later) {
      for (size_t j = i + 1; j < dots_.size() && !later; ++j)
        if (place == dots_[j].wait)
          later = j;
      place = place->getNextNode();
    }
    if (place == dot.wait->getNextNode())
      return later;
    // A first operand in registers stays there as long as the dot may read it.
    Value a = dot.begin.getA();
    if (!tlg::hasLayout(a.getType()))
      a = {};
    rewriter_.setInsertionPoint(place);
    llvm::SmallVector<Value> values{dot.begin.getResult()};
    if (a)
      values.push_back(a);
    auto wait = tlg::WgmmaWaitOp::create(rewriter_, dot.wait.getLoc(),
                                         TypeRange(ValueRange(values)), values, 0);
    rewriter_.replaceAllUsesWith(dot.wait->getResult(0), wait->getResult(0));
    rewriter_.eraseOp(dot.wait);
    dot.wait = wait;
    return later;
  }

  /// Whether `op` or something in it uses the dot's sums.
  static bool uses(Operation *op, tlg::WgmmaWaitOp wait) {
    return llvm::any_of(wait->getResult(0).getUsers(),
                        [&](Operation *user) { return op->isAncestor(user); });
  }

  int countRunning(const Dot &dot) const {
    int running = 0;
    for (const Dot &other : dots_)
      running += dot.begin->isBeforeInBlock(other.begin) && other.begin->isBeforeInBlock(dot.wait);
    return running;
  }

  /// The first op from `from` on and before `to` at which a thread would hold more than it has
  /// registers for; null where there is none.
  Operation *firstFull(Operation *from, Operation *to) const {
    const LiveWords live(*block_);
    for (Operation *op = from; op != to; op = op->getNextNode())
      if (partsCode(op) && std::max(live.before(op), live.before(op->getNextNode())) > mostWords_)
        return op;
    return nullptr;
  }

  /// Makes the block hold less where that is more than a thread has, and helps.
  void relieve() {
    constexpr int kHelps = 16;
    const int before = mostHeld();
    if (before <= mostWords_)
      return;
    const auto order = llvm::map_to_vector(*block_, [](Operation &op) { return &op; });
    const auto pending = llvm::map_to_vector(dots_, [](Dot &dot) { return dot.wait.getPending(); });
    readLate();
    if (dots_.size() > 1) // one alone runs beside the copies for the next iteration
      beginLate();
    freeOperands();
    for (Dot &dot : dots_)
      dot.wait.setPending(countRunning(dot));
    if (const int after = mostHeld(); after <= mostWords_ || after + kHelps <= before)
      return;
    for (Operation *op : llvm::drop_end(order))
      rewriter_.moveOpBefore(op, order.back());
    for (auto [dot, count] : llvm::zip(dots_, pending))
      dot.wait.setPending(count);
  }

  /// The most words that a thread holds at an op that parts the code.
  int mostHeld() const {
    const LiveWords live(*block_);
    int most = 0;
    for (Operation &op : block_->without_terminator())
      if (partsCode(&op))
        most = std::max({most, live.before(&op), live.before(op.getNextNode())});
    return most;
  }

  /// Where registers are short, reads blocks from shared memory, and spreads small ones over more
  /// registers, right before they are needed.
  void readLate() {
    // From the last to the first: what uses a block goes before it does.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block_))) {
      const bool isLoad = isa<tlg::LocalLoadOp>(op);
      if (!isLoad && !takesMoreRegisters(op))
        continue;
      // With what is made of it alone.
      llvm::SmallVector<Operation *> moved{&op};
      Operation *use = firstUse(&op);
      while (use && moved.back()->hasOneUse() && isMadeOfOne(use)) {
        moved.push_back(use);
        use = firstUse(use);
      }
      for (Operation *on = op.getNextNode(); isLoad && use && on != use; on = on->getNextNode())
        if (mayFreeBuffers(on))
          use = nullptr;
      if (!use || !firstFull(op.getNextNode(), use))
        continue;
      for (Operation *on : moved)
        rewriter_.moveOpBefore(on, use);
    }
  }

  /// Whether a thread holds more of a block in its new layout than in the one before.
  static bool takesMoreRegisters(Operation &op) {
    auto conversion = dyn_cast<tlg::ConvertLayoutOp>(op);
    return conversion && tlg::layoutOf(conversion.getSource().getType()).registerCount() <
                             tlg::layoutOf(conversion.getType()).registerCount();
  }

  Operation *firstUse(Operation *op) const {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      Operation *here = block_->findAncestorOpInBlock(*user);
      if (!here)
        return nullptr;
      if (!first || here->isBeforeInBlock(first))
        first = here;
    }
    return first && !first->hasTrait<OpTrait::IsTerminator>() ? first : nullptr;
  }

  /// Whether an op makes its block of one other block.
  static bool isMadeOfOne(Operation *op) {
    return isPure(op) && op->getNumResults() == 1 && tlg::hasLayout(op->getResult(0).getType()) &&
           (isa<tl::ExpandDimsOp, tl::BroadcastOp>(op) || tl::isElementwise(op)) &&
           llvm::all_of(llvm::drop_begin(op->getOperands()), [](Value operand) {
             Operation *made = operand.getDefiningOp();
             return isa_and_nonnull<tl::SplatOp>(made) ||
                    (made && made->hasTrait<OpTrait::ConstantLike>());
           });
  }

  /// Whether what is in shared memory may be something else behind `op`.
  static bool mayFreeBuffers(Operation *op) {
    return isa<tl::BarrierOp>(op) ||
           (!isa<tlg::WgmmaOp, tlg::WgmmaWaitOp, tlg::LocalLoadOp>(op) && changesShared(op));
  }

  /// Where registers are short, begins dots whose sums begin with zeros right before they are
  /// waited for.
  void beginLate() {
    for (Dot &dot : llvm::reverse(dots_)) {
      Operation *sums = dot.begin.getAcc().getDefiningOp();
      if (sums && sums->hasTrait<OpTrait::ConstantLike>() &&
          firstFull(dot.begin->getNextNode(), dot.wait->getNextNode()))
        rewriter_.moveOpBefore(dot.begin, dot.wait);
    }
  }

  /// Where registers are short, waits for dots whose first operand they hold.
  void freeOperands() {
    for (Dot &dot : dots_) {
      if (dot.wait.getNumOperands() == 1)
        continue;
      if (Operation *place = firstFull(dot.begin->getNextNode(), dot.wait))
        rewriter_.moveOpBefore(dot.wait, place);
    }
  }

  Block *block_;
  IRRewriter rewriter_;
  int mostWords_;
  llvm::SmallVector<Dot> dots_; ///< in order
};

} // namespace

void orderWgmma(func::FuncOp function, int registers) {
  llvm::SetVector<Block *> blocks;
  function.walk([&](tlg::WgmmaOp dot) { blocks.insert(dot->getBlock()); });
  constexpr int kForAddresses = 32;
  for (Block *block : blocks)
    BlockOrder(block, registers - kForAddresses).run();
}

} // namespace blockscope::gpu
