// Trees of elementwise ops, and of those that name elements anew, whose leaves are reads of shared
// memory, or repeat smaller blocks, are built again in the layout of the conversion at their root,
// where a thread then has no more elements, or few that are only read.
#include "gpu_backend/passes/wanted_layouts.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The most elements of a thread, as bits, that are read by more threads than would have to: such
/// blocks, as the scales of a dot's operands, do not need the swizzles of a conversion.
constexpr size_t kMostReadBits = 5;

/// How many ops a small block may take to be made a second time.
constexpr int kMostMadeAgain = 32;

/// How many elements of a small block that is converted before a loop a thread keeps: 2^n.
constexpr size_t kMostKeptBits = 3;

/// Whether a block is made before the loop that `root` is in.
bool isBeforeLoopOf(Value block, Operation *root) {
  return block.getParentBlock() != root->getBlock() &&
         block.getParentRegion()->isProperAncestor(root->getParentRegion()) &&
         isa<scf::ForOp>(root->getParentOp());
}

/// Whether a block that repeats a smaller one can be made in `layout` for `root`: from scalars,
/// ranges, what is read from shared memory beside it, and what is converted before its loop; with
/// no op on more elements a thread than it is made of, or than half of `layout`. `left`: how many
/// ops that may take; `keptBits`: how many elements a thread may keep through the loop, 2^n.
bool canMakeIn(Value block, const LinearLayout &layout, Operation *root, size_t mostBits, int &left,
               size_t keptBits = kMostKeptBits) {
  const LinearLayout before = tlg::layoutOf(block.getType());
  if (before == layout)
    return true;
  Operation *op = block.getDefiningOp();
  if (!op || op->getNumResults() != 1 || --left < 0)
    return false;
  if (isSplat(op) || isa<tl::RangeOp>(op))
    return true;
  if (isa<tlg::LocalLoadOp>(op))
    return op->getBlock() == root->getBlock() && layout.registers.size() <= mostBits;
  if (isa<tl::LoadOp>(op))
    return isBeforeLoopOf(block, root) && layout.registers.size() <= std::min(mostBits, keptBits);
  if (auto convert = dyn_cast<tlg::ConvertLayoutOp>(op)) // made by lanes that share it
    return canMakeIn(convert.getSource(), layout, root, mostBits, left,
                     std::max(keptBits, before.registers.size())); // it keeps as many now
  const bool repeats = isa<tl::BroadcastOp>(op);
  if (!isMemoryEffectFree(op) || !(repeats || tl::isElementwise(op) || isa<tl::ExpandDimsOp>(op)) ||
      (!repeats && layout.registers.size() > std::max(before.registers.size(), mostBits)))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isBlock(operand.get()))
      continue;
    const auto wanted = operandLayout(op, operand.getOperandNumber(), layout);
    if (!wanted || !canMakeIn(operand.get(), *wanted, root, mostBits, left, keptBits))
      return false;
  }
  return true;
}

bool canMakeIn(Value block, const LinearLayout &layout, Operation *root) {
  int left = kMostMadeAgain;
  return canMakeIn(block, layout, root, std::max<size_t>(layout.registers.size(), 1) - 1, left);
}

/// Makes it where it is made, as `canMakeIn` allows.
Value makeIn(Value block, const LinearLayout &layout) {
  return madeInLayout(block, layout, [](Operation *op) { return !isa<tl::LoadOp>(op); });
}

/// The ops that make what is converted.
class Tree {
public:
  explicit Tree(tlg::ConvertLayoutOp root) : root_(root) {}

  /// Finds them. Fails where one cannot be made in another layout, or is used by others too.
  bool find() {
    if (!add(root_.getSource(), tlg::layoutOf(root_.getType())))
      return false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const auto [op, layout] = *std::next(ops_.begin(), i); // a copy: more are added
      for (OpOperand &operand : op->getOpOperands()) {
        if (!isBlock(operand.get()))
          continue;
        const auto wanted = operandLayout(op, operand.getOperandNumber(), layout);
        if (!wanted || !add(operand.get(), *wanted))
          return false;
      }
    }
    return readsShared_ && llvm::all_of(ops_, [&](const auto &made) {
             return llvm::all_of(made.first->getUsers(), [&](Operation *user) {
               return user == root_ || ops_.contains(user);
             });
           });
  }

  /// Whether any op does more than to read and to name elements anew.
  bool computes() const {
    return !llvm::all_of(ops_, [](const auto &made) {
      return isa<tlg::LocalLoadOp>(made.first) || isRenaming(made.first);
    });
  }

  void build() {
    llvm::SmallVector<Operation *> ordered(llvm::make_first_range(ops_));
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    IRMapping made;
    OpBuilder builder(root_);
    for (const auto &[small, layout] : small_)
      made.map(small, makeIn(small, layout));
    for (Operation *op : ordered) {
      builder.setInsertionPoint(op);
      made.map(op->getResult(0), cloneInLayout(builder, op, made, ops_.find(op)->second));
    }
    root_.getResult().replaceAllUsesWith(made.lookup(root_.getSource()));
    root_->erase();
    for (Operation *op : llvm::reverse(ordered))
      op->erase();
  }

private:
  bool add(Value value, const LinearLayout &layout) {
    Operation *op = value.getDefiningOp();
    if (op && (isSplat(op) || isa<tl::BroadcastOp>(op)))
      return small_.try_emplace(value, layout).first->second == layout &&
             canMakeIn(value, layout, root_);
    const bool readsShared = isa_and_nonnull<tlg::LocalLoadOp>(op);
    if (!op || op->getBlock() != root_->getBlock() || op->getNumResults() != 1 ||
        !(readsShared || (tl::isElementwise(op) && isMemoryEffectFree(op)) || isRenaming(op)))
      return false;
    readsShared_ |= readsShared;
    return ops_.try_emplace(op, layout).first->second == layout;
  }

  tlg::ConvertLayoutOp root_;
  llvm::MapVector<Operation *, LinearLayout> ops_;
  /// What is the same everywhere, or repeats smaller blocks.
  llvm::MapVector<Value, LinearLayout> small_;
  bool readsShared_ = false;
};

/// One conversion of what is split in place of one of each half, where both are converted to the
/// same layout and needed in no other: read from shared memory in that layout, it is none.
void convertBeforeSplit(tl::SplitOp split) {
  Type wanted;
  for (Operation *user : split->getUsers()) {
    if (!isa<tlg::ConvertLayoutOp>(user) || user->getBlock() != split->getBlock() ||
        (wanted && user->getResult(0).getType() != wanted))
      return;
    wanted = user->getResult(0).getType();
  }
  if (!wanted || split->getResult(0).use_empty() || split->getResult(1).use_empty())
    return;
  const auto layout = operandLayout(split, 0, tlg::layoutOf(wanted));
  if (!layout)
    return;
  OpBuilder builder(split);
  IRMapping made;
  const Value source = split->getOperand(0);
  made.map(source, tlg::ConvertLayoutOp::create(builder, split.getLoc(),
                                                tlg::withLayout(source.getType(), *layout), source)
                       .getResult());
  Operation *again = builder.clone(*split, made);
  for (auto [before, now] : llvm::zip(split->getResults(), again->getResults())) {
    now.setType(wanted);
    const llvm::SmallVector<Operation *> conversions(before.getUsers());
    for (Operation *conversion : conversions) {
      conversion->getResult(0).replaceAllUsesWith(now);
      conversion->erase();
    }
  }
  split->erase();
}

} // namespace

void readInWantedLayouts(func::FuncOp function) {
  llvm::SmallVector<tl::SplitOp> splits;
  function.walk([&](tl::SplitOp split) { splits.push_back(split); });
  llvm::for_each(splits, convertBeforeSplit);
  llvm::SmallVector<tlg::ConvertLayoutOp> conversions;
  function.walk([&](tlg::ConvertLayoutOp op) { conversions.push_back(op); });
  bool changed = false;
  for (tlg::ConvertLayoutOp op : conversions) {
    const auto registers = [](Type type) { return tlg::layoutOf(type).registers.size(); };
    const bool hasNoMore = registers(op.getType()) <= registers(op.getSource().getType());
    const bool isSmall = registers(op.getType()) <= kMostReadBits;
    Tree tree(op);
    if ((hasNoMore || isSmall) && tree.find() && (hasNoMore || !tree.computes())) {
      tree.build();
      changed = true;
    }
  }
  if (changed)
    eraseUnused(function);
}

bool readInWantedLayout(tlg::ConvertLayoutOp conversion) {
  Tree tree(conversion);
  if (!tree.find())
    return false;
  tree.build();
  return true;
}

} // namespace blockscope::gpu
