// A walk in the order of the program with the loads and stores that some warps may not have done
// yet.
#include "gpu_backend/passes/store_order.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/one_warp.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What some warps may not have done yet.
struct Open {
  llvm::SetVector<Operation *> loads, stores; ///< atomics among the stores

  void clear() {
    loads.clear();
    stores.clear();
  }
  void insert(const Open &other) {
    loads.insert_range(other.loads);
    stores.insert_range(other.stores);
  }
};

/// Whether all threads meet where an op begins, or in it.
bool meets(Operation *op) {
  if (isa<tl::BarrierOp>(op))
    return true;
  if (auto reduce = dyn_cast<tl::ReduceOp>(op)) { // from warp to warp it goes by shared memory
    const auto type = cast<RankedTensorType>(reduce.getOperand(0).getType());
    const LinearLayout layout = tlg::layoutOf(type);
    const std::optional<InputBits> along =
        inputsAlong(layout, ShapeBits(type.getShape()), static_cast<int>(reduce.getAxis()));
    return along && (along->warps & ~freeBits(layout).warps) != 0;
  }
  const auto order =
      llvm::TypeSwitch<Operation *, llvm::StringRef>(op)
          .Case<tl::AtomicRmwOp, tl::AtomicCasOp, tl::AtomicLoadOp, tl::AtomicStoreOp>(
              [](auto atomic) { return atomic.getSem(); })
          .Default(llvm::StringRef());
  return order == "release" || order == "acq_rel";
}

/// Whether what a thread loads goes, element by element, only into stores of those elements, which
/// one of the threads that have them does: what others have loaded does not matter.
bool isOnlyStored(Operation *load) {
  const Type pointer = load->getOperand(0).getType();
  const auto isSame = [&](Type type) {
    return tlg::hasLayout(type)
               ? tlg::hasLayout(pointer) && tlg::layoutOf(type) == tlg::layoutOf(pointer)
               : !tlg::hasLayout(pointer);
  };
  llvm::SetVector<Operation *> open;
  open.insert(load);
  for (size_t i = 0; i < open.size(); ++i)
    for (Operation *user : open[i]->getUsers()) {
      const bool isElementwise = user->getNumRegions() == 0 && user->getNumResults() == 1 &&
                                 tl::isElementwise(user) && isMemoryEffectFree(user) &&
                                 isSame(user->getResult(0).getType());
      if (isElementwise)
        open.insert(user);
      else if (!isa<tl::StoreOp>(user) || !isSame(user->getOperand(0).getType()))
        return false;
    }
  return true;
}

class StoreOrder {
public:
  explicit StoreOrder(func::FuncOp function) : function_(function) {}

  /// Finds the accesses that need a barrier, when `open` may not be done; changes it.
  void visit(Block &block, Open &open) {
    for (Operation &op : block) {
      if (meets(&op))
        open.clear();
      if (const bool stores = isa<tl::StoreOp>(op) || tl::isAtomic(&op);
          stores || isa<tl::LoadOp>(op)) {
        if ((stores &&
             llvm::any_of(open.loads, [&](Operation *load) { return mayBeBehind(load, &op); })) ||
            llvm::any_of(open.stores, [&](Operation *store) { return mayComeFirst(&op, store); }))
          found_.insert(&op);
        if (found_.contains(&op))
          open.clear();
        (stores ? open.stores : open.loads).insert(&op);
      } else if (isa<LoopLikeOpInterface>(op)) {
        const Open before = open;               // of a loop without iterations
        for (int round = 0; round < 2; ++round) // an iteration's loads are open in the next one
          for (Region &region : op.getRegions())
            visit(region.front(), open);
        open.insert(before);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        Open other = open;
        visit(*branch.thenBlock(), open);
        if (branch.elseBlock())
          visit(*branch.elseBlock(), other);
        open.insert(other);
      }
    }
  }

  llvm::ArrayRef<Operation *> found() const { return found_.getArrayRef(); }

private:
  /// Whether a warp may load after another one has stored the same. Where only different arguments
  /// say that it is not the same, they are recorded.
  bool mayBeBehind(Operation *load, Operation *store) {
    const Type from = load->getOperand(0).getType(), to = store->getOperand(0).getType();
    const bool isBlock = tlg::hasLayout(from);
    const bool areSame =
        isBlock == tlg::hasLayout(to) && (!isBlock || tlg::layoutOf(from) == tlg::layoutOf(to));
    const bool hasCopies = !isBlock || freeBits(tlg::layoutOf(from)).warps != 0;
    if (areSame && (!hasCopies || isOnlyStored(load)))
      return false;
    const std::optional<unsigned> loaded = argument(load), stored = argument(store);
    if (!loaded || !stored || mayOverlap(function_, *loaded, *stored))
      return true;
    requireDisjoint(function_, *loaded, *stored);
    return false;
  }

  /// Whether a warp may store, or load, before another one has stored the same: blocks of one
  /// argument and shape. Those have one layout with Triton, and thereby their order; here it
  /// follows from what is stored.
  bool mayComeFirst(Operation *later, Operation *store) {
    const Type from = later->getOperand(0).getType(), to = store->getOperand(0).getType();
    if (!tlg::hasLayout(from) || !tlg::hasLayout(to) ||
        cast<ShapedType>(from).getShape() != cast<ShapedType>(to).getShape())
      return false;
    const LinearLayout layout = tlg::layoutOf(from);
    const bool hasCopies = isa<tl::LoadOp>(later) && freeBits(layout).warps != 0;
    if (layout == tlg::layoutOf(to) && !hasCopies)
      return false;
    const std::optional<unsigned> one = argument(later), other = argument(store);
    return one && other ? one == other : base(later) == base(store);
  }

  /// The pointer of which an access's are made.
  static Value base(Operation *access) {
    Value pointer = access->getOperand(0);
    while (
        isa_and_nonnull<tl::AddPtrOp, tl::SplatOp, tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp,
                        tl::TransOp, tl::HintOp, tlg::ConvertLayoutOp>(pointer.getDefiningOp()))
      pointer = pointer.getDefiningOp()->getOperand(0);
    return pointer;
  }

  std::optional<unsigned> argument(Operation *access) {
    const auto [place, isNew] = arguments_.try_emplace(access);
    if (isNew)
      place->second = argumentOf(access->getOperand(0));
    return place->second;
  }

  func::FuncOp function_;
  llvm::SetVector<Operation *> found_;
  llvm::DenseMap<Operation *, std::optional<unsigned>> arguments_;
};

} // namespace

void orderStores(func::FuncOp function) {
  if (isOfOneWarp(function)) { // there are no others
    function->setAttr(kOneWarpAttribute, UnitAttr::get(function.getContext()));
    return;
  }
  StoreOrder order(function);
  Open open;
  order.visit(function.getBody().front(), open);
  for (Operation *access : order.found()) {
    OpBuilder builder(access);
    tl::BarrierOp::create(builder, access->getLoc());
  }
}

} // namespace blockscope::gpu
