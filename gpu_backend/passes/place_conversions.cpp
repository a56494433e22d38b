// Moves conversions along elementwise ops. For each two layouts between which a block of code
// converts, the ops between are labelled anew, at the least cost: what makes or takes blocks in a
// layout of its own keeps it, and each value that is wanted in the other layout is converted once.
#include "gpu_backend/passes/place_conversions.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/min_cut.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/tma_access.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What a conversion costs besides the bytes that a thread stores and loads: its barriers.
constexpr int64_t kBarriers = 16;

/// The most ops that are labelled at once.
constexpr size_t kMostOps = 1024;

bool isBlock(Value value) { return isa<RankedTensorType>(value.getType()); }

/// The value that conversions make others of.
Value rootOf(Value value) {
  while (auto conversion = value.getDefiningOp<tlg::ConvertLayoutOp>())
    value = conversion.getSource();
  return value;
}

/// Whether an op repeats a smaller block, of which another layout is made by converting that one.
bool repeats(Operation *op) { return isa_and_nonnull<tl::BroadcastOp, tl::ExpandDimsOp>(op); }

/// Whether a conversion right before an operand costs nothing: what TMA stores goes through shared
/// memory, from any layout.
bool takesAny(OpOperand &operand) {
  auto store = dyn_cast<tl::StoreOp>(operand.getOwner());
  return store && operand.get() == store.getValue() && store->hasAttr(kTmaAttribute);
}

/// What the conversion of a value costs a thread; of what has copies each element is stored once.
int64_t costOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (isSplat(op))
    return 0;
  while (repeats(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
    if (isSplat(op) || isa_and_nonnull<tl::RangeOp>(op))
      return 0;
  }
  const LinearLayout layout = tlg::layoutOf(value.getType());
  const int64_t threads = int64_t{layout.laneCount()} * layout.warpCount();
  const int64_t stored = cast<ShapedType>(value.getType()).getNumElements() / threads;
  return kBarriers + tlg::elementBytes(value.getType()) *
                         (std::max<int64_t>(stored, 1) + layout.registerCount());
}

/// Two layouts of blocks of one shape.
struct Pair {
  LinearLayout first, second;

  bool has(Value value) const {
    const LinearLayout layout = tlg::layoutOf(value.getType());
    return layout == first || layout == second;
  }
};

/// The ops of a block of code between two layouts, and where conversions between them stand.
class Region {
public:
  Region(Block &block, Pair pair, ArrayRef<int64_t> shape)
      : block_(block), pair_(std::move(pair)), shape_(shape) {}

  /// Finds the ops on both sides of a conversion, and those connected with them.
  void add(tlg::ConvertLayoutOp conversion) {
    addOp(rootOf(conversion.getResult()).getDefiningOp());
    addUsers(conversion.getResult());
    for (size_t i = 0; i < ops_.size() && ops_.size() <= kMostOps; ++i) {
      Operation *op = ops_[i];
      for (Value operand : op->getOperands())
        if (isBlock(operand)) {
          addOp(rootOf(operand).getDefiningOp());
          addUsers(rootOf(operand));
        }
      addUsers(op->getResult(0));
    }
  }

  bool isTooLarge() const { return ops_.size() > kMostOps; }
  bool contains(Operation *op) const { return ops_.contains(op); }

  /// Labels the ops anew where that costs less than now. Returns whether it does.
  bool improve() {
    collect();
    MinCut graph;
    llvm::DenseMap<Value, unsigned> nodes;
    for (const auto &[value, uses] : uses_) {
      nodes[value] = graph.add();
      if (!ops_.contains(value.getDefiningOp()))
        bind(graph, nodes[value], isFirst(value));
    }
    int64_t before = 0;
    for (const auto &[value, uses] : uses_) {
      const int64_t cost = costOf(value);
      const unsigned node = nodes[value], toSecond = graph.add(), toFirst = graph.add();
      graph.arc(node, toSecond, cost);
      graph.arc(toFirst, node, cost);
      bool isWantedFirst = false, isWantedSecond = false;
      for (const Use &use : uses) {
        if (takesAny(*use.operand))
          continue;
        (use.isFirst ? isWantedFirst : isWantedSecond) = true;
        Operation *op = use.operand->getOwner();
        const unsigned user = ops_.contains(op) ? nodes[op->getResult(0)] : graph.add();
        if (!ops_.contains(op))
          bind(graph, user, use.isFirst);
        graph.arc(toSecond, user, MinCut::kBound);
        graph.arc(user, toFirst, MinCut::kBound);
      }
      if (isFirst(value) ? isWantedSecond : isWantedFirst)
        before += cost;
    }
    if (graph.solve() >= before)
      return false;
    llvm::DenseMap<Value, bool> labels;
    for (const auto &[value, uses] : uses_)
      labels[value] = graph.isFirst(nodes[value]);
    rewrite(labels);
    return true;
  }

private:
  /// An operand of somebody who takes the value in a layout: by itself, or by a conversion.
  struct Use {
    OpOperand *operand;
    bool isFirst;
  };

  static void bind(MinCut &graph, unsigned node, bool isFirst) {
    isFirst ? graph.bindFirst(node) : graph.bindSecond(node);
  }

  bool isFirst(Value value) const { return tlg::layoutOf(value.getType()) == pair_.first; }
  const LinearLayout &layout(bool isFirst) const { return isFirst ? pair_.first : pair_.second; }

  /// An op whose layout may change: it has the same one on all its blocks, and touches no memory.
  bool mayChange(Operation *op) const {
    return op && op->getBlock() == &block_ && op->getNumResults() == 1 &&
           op->getNumOperands() != 0 && tl::isElementwise(op) && isMemoryEffectFree(op) &&
           !isSplat(op) && isBlock(op->getResult(0)) &&
           cast<RankedTensorType>(op->getResult(0).getType()).getShape() == shape_ &&
           pair_.has(op->getResult(0)) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return !isBlock(operand) || pair_.has(rootOf(operand));
           });
  }

  void addOp(Operation *op) {
    if (mayChange(op))
      ops_.insert(op);
  }

  void addUsers(Value value) {
    for (Operation *user : value.getUsers()) {
      if (isa<tlg::ConvertLayoutOp>(user))
        addUsers(user->getResult(0));
      else
        addOp(user);
    }
  }

  /// Writes down every value of the region, and who takes it. Those that convert it to a third
  /// layout take it as it is.
  void collect() {
    llvm::SetVector<Value> values;
    for (Operation *op : ops_) {
      values.insert(op->getResult(0));
      for (Value operand : op->getOperands())
        if (isBlock(operand))
          values.insert(rootOf(operand));
    }
    for (Value value : values) {
      llvm::SmallVector<Use> &uses = uses_[value];
      llvm::SmallVector<Value> open{value};
      while (!open.empty()) {
        Value each = open.pop_back_val();
        const bool isOfPair = pair_.has(each);
        for (OpOperand &use : each.getUses()) {
          Operation *user = use.getOwner();
          if (isa<tlg::ConvertLayoutOp>(user)) {
            conversions_.insert(user);
            open.push_back(user->getResult(0));
          } else if (isOfPair) {
            uses.push_back({&use, isFirst(each)});
          }
        }
      }
    }
  }

  void rewrite(const llvm::DenseMap<Value, bool> &labels) {
    for (Operation *op : ops_) {
      Value result = op->getResult(0);
      result.setType(tlg::withLayout(result.getType(), layout(labels.at(result))));
    }
    for (auto &[value, uses] : uses_)
      for (const Use &use : uses) {
        Operation *user = use.operand->getOwner();
        const bool isWantedFirst =
            ops_.contains(user) ? labels.at(user->getResult(0)) : use.isFirst;
        use.operand->set(in(value, isWantedFirst));
      }
    // Conversions to a third layout are left, of the value itself.
    for (Operation *conversion : llvm::reverse(conversions_)) {
      if (conversion->use_empty())
        conversion->erase();
      else
        conversion->setOperand(0, rootOf(conversion->getOperand(0)));
    }
  }

  /// A value in one of the two layouts, made where the value is.
  Value in(Value value, bool isFirst) {
    Value &made = made_[isFirst ? 0 : 1][value];
    if (!made) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      made = converted(builder, value, layout(isFirst));
    }
    return made;
  }

  static Value converted(OpBuilder &builder, Value value, const LinearLayout &layout) {
    if (tlg::layoutOf(value.getType()) == layout)
      return value;
    Operation *op = value.getDefiningOp();
    const Type type = tlg::withLayout(value.getType(), layout);
    if (!isSplat(op) && !repeats(op) && !isa_and_nonnull<tl::RangeOp>(op))
      return tlg::ConvertLayoutOp::create(builder, value.getLoc(), type, value);
    OpBuilder::InsertionGuard guard(builder);
    IRMapping mapping;
    if (repeats(op)) {
      builder.setInsertionPointAfterValue(op->getOperand(0));
      mapping.map(op->getOperand(0),
                  converted(builder, op->getOperand(0), *operandLayout(op, 0, layout)));
      builder.setInsertionPoint(op);
    } else {
      builder.setInsertionPoint(op);
    }
    return cloneInLayout(builder, op, mapping, layout);
  }

  Block &block_;
  const Pair pair_;
  const ArrayRef<int64_t> shape_;
  llvm::SetVector<Operation *> ops_;
  llvm::MapVector<Value, llvm::SmallVector<Use>> uses_;
  llvm::SetVector<Operation *> conversions_;
  std::array<llvm::DenseMap<Value, Value>, 2> made_; ///< by label, first and second
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

} // namespace

void placeConversions(func::FuncOp function) {
  function.walk([](Block *block) {
    if (isPipelined(*block))
      return;
    bool changed = true;
    llvm::DenseSet<Operation *> seen;
    while (changed) {
      changed = false;
      for (Operation &op : *block) {
        auto conversion = dyn_cast<tlg::ConvertLayoutOp>(op);
        if (!conversion || !seen.insert(&op).second)
          continue;
        Pair pair{tlg::layoutOf(rootOf(conversion.getResult()).getType()),
                  tlg::layoutOf(conversion.getType())};
        if (pair.first == pair.second || !areAlike(pair.first, pair.second))
          continue;
        Region region(*block, std::move(pair),
                      cast<RankedTensorType>(conversion.getType()).getShape());
        region.add(conversion);
        if (!region.isTooLarge() && region.improve()) {
          changed = true;
          break;
        }
      }
    }
  });
}

} // namespace blockscope::gpu
