#include "gpu_backend/passes/combining_cost.h"

#include "core/ir/facts.h"
#include "gpu_backend/passes/block_queries.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscope::gpu {

int64_t elementCost(Operation *op) {
  // A special unit takes 16 lanes a clock, so eight quarters of a wavefront, and some instructions
  // come before and after. Others are polynomials, or divide more than once.
  constexpr int64_t kFunction = 12, kLongFunction = 28;
  const OpFacts *facts = tl::factsOf(op);
  if (facts && facts->cost == OpCost::Free)
    return 0;
  if (facts && facts->cost <= OpCost::Simple)
    return kSimpleCost;
  return isa<math::SinOp, math::CosOp, math::TanOp, math::ErfOp, arith::RemFOp,
             tl::ExternElementwiseOp>(op)
             ? kLongFunction
             : kFunction;
}

int64_t combineCost(Operation *op) {
  return kSimpleCost * (static_cast<int64_t>(op->getRegion(0).front().getOperations().size()) - 1);
}

// As lowering/scan.cpp does it, by segments of the axis.
int64_t scanCost(tl::ScanOp scan, const LinearLayout &layout) {
  const ShapeBits shape(cast<RankedTensorType>(scan->getOperand(0).getType()).getShape());
  const int axis = static_cast<int>(scan.getAxis());
  const int64_t combining = combineCost(scan), count = layout.registerCount();
  int64_t cost = 0, blocks = count;
  enum class Level { None, Registers, Lanes, Warps } last = Level::None;
  bool hasLanes = false;
  for (int bit = 0; bit < shape.width(axis); ++bit) {
    const ElementBits basis = ElementBits{1} << (shape.shift(axis) + bit);
    const Level level = llvm::is_contained(layout.registers, basis) ? Level::Registers
                        : llvm::is_contained(layout.lanes, basis)   ? Level::Lanes
                                                                    : Level::Warps;
    switch (level) {
    case Level::Registers:
      cost += count / 2 * combining + (hasLanes ? blocks * kShuffleCost : 0);
      blocks /= 2;
      break;
    case Level::Lanes:
      cost += blocks * (kShuffleCost + combining + kSelectCost);
      if (last != level && last != Level::None)
        cost += blocks * kShuffleCost + count * (combining + kSelectCost);
      hasLanes = true;
      break;
    default:
      if (last != level)
        cost += 2 * kBlockBarrierCost + count * (combining + kSelectCost);
      cost += blocks * kWavefrontCost;
    }
    last = level;
  }
  return cost;
}

int64_t reductionCost(tl::ReduceOp reduce, const LinearLayout &layout) {
  const ShapeBits shape(cast<RankedTensorType>(reduce->getOperand(0).getType()).getShape());
  const ElementBits axis = shape.mask(static_cast<int>(reduce.getAxis()));
  const auto along = [&](const Bases &bases) {
    return llvm::count_if(bases, [&](ElementBits basis) { return (basis & axis) != 0; });
  };
  const int64_t results = int64_t{1} << (layout.registers.size() - along(layout.registers));
  const int64_t combining = combineCost(reduce);
  return (layout.registerCount() - results) * combining +
         along(layout.lanes) * results * (kShuffleCost + combining) +
         (along(layout.warps) != 0 ? kBlockBarrierCost + 2 * results * kWavefrontCost : 0);
}

llvm::SmallSetVector<Operation *, 8>
combinedLike(Value block, llvm::SmallSetVector<Operation *, 16> *elementwise) {
  constexpr size_t kMost = 256; // blocks
  llvm::SmallSetVector<Operation *, 8> found;
  llvm::SmallSetVector<Value, 16> blocks;
  blocks.insert(block);
  for (size_t i = 0; i < blocks.size() && i < kMost; ++i) {
    const auto addAll = [&](Operation *op) {
      for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Value value : values)
          if (isBlock(value) && blockType(value).getShape() == blockType(block).getShape())
            blocks.insert(value);
    };
    const auto follow = [&](Operation *op) {
      if (isa<tl::ReduceOp, tl::ScanOp>(op))
        found.insert(op);
      if (isa<tl::ScanOp>(op) || tl::isElementwise(op))
        addAll(op);
      if (elementwise && tl::isElementwise(op))
        elementwise->insert(op);
    };
    Value value = blocks[i];
    llvm::for_each(value.getUsers(), follow);
    if (Operation *op = value.getDefiningOp(); op && !isa<tl::ReduceOp>(op))
      follow(op);
  }
  return found;
}

bool hasScan(llvm::ArrayRef<Operation *> combining) {
  return llvm::any_of(combining, [](Operation *op) { return isa<tl::ScanOp>(op); });
}

int64_t costOfCombining(llvm::ArrayRef<Operation *> combining, const LinearLayout &layout) {
  int64_t cost = 0;
  for (Operation *op : combining)
    if (auto scan = dyn_cast<tl::ScanOp>(op))
      cost += scanCost(scan, layout);
    else
      cost += reductionCost(cast<tl::ReduceOp>(op), layout);
  return cost;
}

} // namespace blockscope::gpu
