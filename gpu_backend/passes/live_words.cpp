// Back through the ops of a block, with the set of values that are needed behind each.
#include "gpu_backend/passes/live_words.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/gpu_target.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What a block lies in the registers of.
Value heldAs(Value value) {
  while (isa_and_nonnull<tl::BroadcastOp, tl::ExpandDimsOp, tl::TransOp, tl::ReshapeOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Whether integers were loaded or moved: others are made of indices.
bool isData(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isa<tl::LoadOp, tlg::LocalLoadOp, tlg::ConvertLayoutOp, tlg::MmaOp, tlg::WgmmaOp,
                    tlg::WgmmaWaitOp>(op);
}

/// Whether all elements of a block are the same number, which takes one register at most: a splat,
/// or what is made of one in a few steps.
bool isOneNumber(Value value, int steps = 3) {
  Operation *op = heldAs(value).getDefiningOp();
  if (!op || isa<tl::SplatOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return op != nullptr;
  return steps > 0 && tl::isElementwise(op) && isPure(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOneNumber(operand, steps - 1); });
}

int wordsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !tlg::hasLayout(type) || isOneNumber(value))
    return 0;
  if (isa<tl::PtrType>(type.getElementType()))
    return isa<BlockArgument>(value) ? 2 : 0;
  if (type.getElementType().isInteger(1) ||
      (!isa<FloatType>(type.getElementType()) && !isData(value)))
    return 0;
  return std::max(tlg::layoutOf(type).registerCount() * tlg::elementBytes(type) / 4, 1);
}

} // namespace

LiveWords::LiveWords(Block &block) {
  llvm::DenseSet<Value> live;
  int words = 0;
  const auto use = [&](Value value) {
    value = heldAs(value);
    if (live.insert(value).second)
      words += wordsOf(value);
  };
  // What comes from outside of a loop is needed by its next iteration, too.
  if (isa<LoopLikeOpInterface>(block.getParentOp()))
    block.walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!block.getParent()->isAncestor(heldAs(operand).getParentRegion()))
          use(operand);
    });
  for (Operation &op : llvm::reverse(block)) {
    for (Value result : op.getResults())
      if (live.erase(result))
        words -= wordsOf(result);
    op.walk([&](Operation *inside) {
      for (Value operand : inside->getOperands())
        if (inside == &op || !op.isAncestor(heldAs(operand).getParentRegion()->getParentOp()))
          use(operand);
    });
    before_[&op] = words;
  }
}

int registersIn(Block &block) {
  constexpr int kForAddresses = 32;
  int most = 0;
  const LiveWords live(block);
  for (Operation &op : block)
    most = std::max(most, live.before(&op));
  return most + kForAddresses;
}

} // namespace blockscope::gpu
