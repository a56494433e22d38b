// Moves conversions along elementwise ops. For each two layouts between which a block of code
// converts, the ops between are labelled anew, at the least cost: what makes or takes blocks in a
// layout of its own keeps it, and each value that is wanted in the other layout is converted once.
#include "gpu_backend/passes/place_conversions.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/layout_region.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/tma_access.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What a conversion costs besides the bytes that a thread stores and loads: its barriers. Where it
/// is taken far from where it was, others may come in its place, each with barriers of its own.
constexpr int64_t kBarriers = 16, kBarriersFarAway = 128;

/// Whether an op repeats a smaller block, of which another layout is made by converting that one.
bool repeats(Operation *op) { return isa_and_nonnull<tl::BroadcastOp, tl::ExpandDimsOp>(op); }

/// Whether an op computes something simple, element by element, of nothing but smaller blocks that
/// it repeats, numbers and ranges: it is computed again in another layout.
bool combinesRepeated(Operation *op, int depth = 2) {
  const OpFacts *facts = op ? tl::factsOf(op) : nullptr;
  return facts && depth > 0 && facts->cost <= OpCost::Simple && tl::isElementwise(op) &&
         op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *source = operand.getDefiningOp();
           return !isBlock(operand) || isSplat(source) || repeats(source) ||
                  isa_and_nonnull<tl::RangeOp>(source) || combinesRepeated(source, depth - 1);
         });
}

/// Whether a conversion right before an operand costs nothing: what TMA stores goes through shared
/// memory, from any layout, also by way of ops that only name its elements anew (storeByTma).
bool takesAny(OpOperand &operand) {
  Operation *user = operand.getOwner();
  if (auto store = dyn_cast<tl::StoreOp>(user))
    return operand.get() == store.getValue() && store->hasAttr(kTmaAttribute);
  return (isRenaming(user) || isa<tlg::ConvertLayoutOp>(user)) && !user->use_empty() &&
         llvm::all_of(user->getResult(0).getUses(), takesAny);
}

/// What the conversion of a value costs a thread; of what has copies each element is stored once.
int64_t costOf(Value value, int64_t barriers = kBarriers) {
  Operation *op = value.getDefiningOp();
  if (isSplat(op))
    return 0;
  while (repeats(op)) {
    const bool isAlone = op->hasOneUse();
    value = op->getOperand(0);
    op = value.getDefiningOp();
    if (isSplat(op) || isa_and_nonnull<tl::RangeOp>(op))
      return 0;
    if (isAlone && isa_and_nonnull<tlg::ConvertLayoutOp>(op) && op->hasOneUse())
      barriers = 0; // it is converted to another layout instead
  }
  const LinearLayout layout = tlg::layoutOf(value.getType());
  const int64_t threads = int64_t{layout.laneCount()} * layout.warpCount();
  const int64_t stored = cast<ShapedType>(value.getType()).getNumElements() / threads;
  return barriers + tlg::elementBytes(value.getType()) *
                        (std::max<int64_t>(stored, 1) + layout.registerCount());
}

/// Whether `costAgain` has an op computed again.
bool isMadeAgain(Operation *op) {
  return isSplat(op) || isa_and_nonnull<tl::RangeOp>(op) || repeats(op) || combinesRepeated(op);
}

/// What `value` costs in `layout`, if smaller blocks are converted and the rest is computed again:
/// an instruction for each element and op.
int64_t costAgain(Value value, const LinearLayout &layout) {
  if (tlg::layoutOf(convertedFrom(value).getType()) == layout)
    return 0;
  Operation *op = value.getDefiningOp();
  if (isSplat(op) || isa_and_nonnull<tl::RangeOp>(op))
    return 0;
  if (!isMadeAgain(op))
    return costOf(value);
  int64_t cost = repeats(op) ? 0 : layout.registerCount();
  for (OpOperand &operand : op->getOpOperands())
    if (isBlock(operand.get()))
      cost += costAgain(operand.get(), *operandLayout(op, operand.getOperandNumber(), layout));
  return cost;
}

/// Computes a value again, in the layout that is wanted, in place of a conversion that costs more.
void computeAgain(Block &block) {
  llvm::SmallVector<tlg::ConvertLayoutOp> conversions(block.getOps<tlg::ConvertLayoutOp>());
  for (tlg::ConvertLayoutOp conversion : conversions) {
    Value source = convertedFrom(conversion.getResult());
    Operation *op = source.getDefiningOp();
    const LinearLayout layout = tlg::layoutOf(conversion.getType());
    if (!op || op->getBlock() != &block || !combinesRepeated(op) ||
        costAgain(source, layout) >= costOf(source))
      continue;
    conversion.getResult().replaceAllUsesWith(madeInLayout(source, layout, isMadeAgain));
    while (conversion && conversion->use_empty()) {
      auto before = conversion.getSource().getDefiningOp<tlg::ConvertLayoutOp>();
      conversion->erase();
      conversion = before;
    }
  }
}

/// Elementwise ops between two layouts in which threads have as many elements: only what is moved
/// costs something.
class BytesMoved : public LayoutCosts {
public:
  BytesMoved(const LayoutPair &pair, ArrayRef<int64_t> shape, int64_t barriers)
      : pair_(pair), shape_(shape), barriers_(barriers) {}

  /// An op whose layout may change: it has the same one on all its blocks, and touches no memory.
  bool mayChange(Operation *op) const override {
    if (isa<tlg::LocalLoadOp>(op)) // shared memory can be read in any layout
      return cast<RankedTensorType>(op->getResult(0).getType()).getShape() == shape_ &&
             pair_.has(op->getResult(0));
    return op->getNumResults() == 1 && op->getNumOperands() != 0 && tl::isElementwise(op) &&
           isMemoryEffectFree(op) && !isSplat(op) && isBlock(op->getResult(0)) &&
           cast<RankedTensorType>(op->getResult(0).getType()).getShape() == shape_ &&
           pair_.has(op->getResult(0)) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isBlock(operand) || pair_.has(convertedFrom(operand));
           });
  }
  bool keepsOperand(OpOperand &) const override { return false; }
  bool isMadeAgain(Value value) const override {
    Operation *op = value.getDefiningOp();
    return isSplat(op) || repeats(op) || isa_and_nonnull<tl::RangeOp, tlg::LocalLoadOp>(op);
  }
  int64_t ofOp(Operation *, bool) const override { return 0; }
  int64_t ofConversion(Value value, bool) const override { return costOf(value, barriers_); }
  bool isFree(OpOperand &operand) const override { return takesAny(operand); }
  void changed(Operation *) const override {}

private:
  const LayoutPair &pair_;
  const ArrayRef<int64_t> shape_;
  const int64_t barriers_;
};

/// Whether threads hold every element once in both layouts, as many each: ops cost the same in
/// either.
bool areAlike(const LinearLayout &a, const LinearLayout &b) {
  return a.registerCount() == b.registerCount() && freeBits(a).empty() && freeBits(b).empty();
}

/// Whether loads of the block are put into rings, which dots read in any layout.
bool isPipelined(Block &block) {
  return isa<scf::ForOp>(block.getParentOp()) && llvm::any_of(block, [](Operation &op) {
           return isa<tl::DotOp, tlg::MmaOp, tlg::WgmmaOp>(op);
         });
}

/// Labels the ops around a conversion anew, if that costs less than `share` of what they cost.
bool improveAround(tlg::ConvertLayoutOp conversion, int64_t barriers = kBarriers,
                   double share = 1) {
  const LayoutPair pair{tlg::layoutOf(convertedFrom(conversion.getResult()).getType()),
                        tlg::layoutOf(conversion.getType())};
  if (pair.first == pair.second || !areAlike(pair.first, pair.second))
    return false;
  const BytesMoved costs(pair, cast<RankedTensorType>(conversion.getType()).getShape(), barriers);
  LayoutRegion region(*conversion->getBlock(), pair, costs);
  region.add(convertedFrom(conversion.getResult()).getDefiningOp());
  region.addUsers(conversion.getResult());
  region.spread();
  return !region.isTooLarge() && region.improve([&](int64_t before, int64_t after) {
    return static_cast<double>(after) < share * static_cast<double>(before);
  });
}

/// Moves a conversion before ops that only name anew what is converted, which nothing else takes,
/// if it costs less among the ops there, which have the other shape.
class MoveBeforeRenaming {
public:
  explicit MoveBeforeRenaming(tlg::ConvertLayoutOp conversion) : conversion_(conversion) {}

  bool improves() {
    constexpr double kClearly = 0.85;
    while (moveOnce())
      if (improveAround(conversion_, kBarriersFarAway, kClearly))
        return true;
    while (!passed_.empty())
      moveBack();
    return false;
  }
  /// The conversion where it is now, another op than before.
  tlg::ConvertLayoutOp conversion() const { return conversion_; }

private:
  struct Passed {
    Operation *op;
    Type type; ///< of its result
  };

  bool moveOnce() {
    Operation *op = conversion_.getSource().getDefiningOp();
    if (!op || op->getBlock() != conversion_->getBlock() || !isRenaming(op) ||
        !op->getResult(0).hasOneUse())
      return false;
    const std::optional<LinearLayout> layout =
        operandLayout(op, 0, tlg::layoutOf(conversion_.getType()));
    Value source = op->getOperand(0);
    if (!layout || *layout == tlg::layoutOf(source.getType()))
      return false;
    OpBuilder builder(op);
    passed_.push_back({op, op->getResult(0).getType()});
    op->setOperand(0, tlg::ConvertLayoutOp::create(builder, conversion_.getLoc(),
                                                   tlg::withLayout(source.getType(), *layout),
                                                   source));
    op->getResult(0).setType(conversion_.getType());
    conversion_.getResult().replaceAllUsesWith(op->getResult(0));
    conversion_->erase();
    conversion_ = op->getOperand(0).getDefiningOp<tlg::ConvertLayoutOp>();
    return true;
  }

  void moveBack() {
    const auto [op, type] = passed_.pop_back_val();
    Value result = op->getResult(0);
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    op->setOperand(0, conversion_.getSource());
    auto after =
        tlg::ConvertLayoutOp::create(builder, conversion_.getLoc(), result.getType(), result);
    result.replaceAllUsesExcept(after.getResult(), after);
    result.setType(type);
    conversion_->erase();
    conversion_ = after;
  }

  tlg::ConvertLayoutOp conversion_;
  llvm::SmallVector<Passed, 2> passed_;
};

} // namespace

void placeConversions(func::FuncOp function, bool inPipelines) {
  function.walk([&](Block *block) {
    if (isPipelined(*block) != inPipelines)
      return;
    computeAgain(*block);
    bool changed = true;
    llvm::DenseSet<Operation *> seen;
    while (changed) {
      changed = false;
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        auto conversion = dyn_cast<tlg::ConvertLayoutOp>(op);
        if (!conversion || !seen.insert(&op).second)
          continue;
        if (improveAround(conversion)) {
          changed = true;
          break;
        }
        MoveBeforeRenaming move(conversion);
        if (move.improves()) {
          changed = true;
          break;
        }
        seen.insert(move.conversion());
      }
    }
  });
}

} // namespace blockscope::gpu
