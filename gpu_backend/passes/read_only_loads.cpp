// Arguments that the kernel stores to first, then loop by loop.
#include "gpu_backend/passes/read_only_loads.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/disjoint_arguments.h"

#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

using Arguments = llvm::SmallSetVector<unsigned, 4>;

/// The arguments that the kernel stores to; nothing where it may write elsewhere, or where what
/// others write may be seen: behind atomics, barriers and waits.
std::optional<Arguments> storedArguments(func::FuncOp function) {
  Arguments stored;
  bool isKnown = true;
  function.walk([&](Operation *op) {
    if (auto store = dyn_cast<tl::StoreOp>(op)) {
      const std::optional<unsigned> argument = argumentOf(store.getPointer());
      isKnown &= argument.has_value();
      stored.insert(argument.value_or(0));
    } else if (auto load = dyn_cast<tl::LoadOp>(op)) {
      isKnown &= !load.getIsVolatile();
    } else {
      isKnown &= !ordersMemory(op);
    }
  });
  return isKnown ? std::optional(stored) : std::nullopt;
}

/// How many instructions a thread's part of a load takes.
int64_t instructionsOf(tl::LoadOp load) {
  const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
  const Type type = load.getPointer().getType();
  if (!vector || !tlg::hasLayout(type))
    return 1;
  return std::max<int64_t>(1, tlg::layoutOf(type).registerCount() / vector[1]);
}

/// Whether a loop stores in each iteration what threads compute, each by itself, from blocks of
/// numbers of the iteration before: a step of time for many elements.
bool isStepOfTime(LoopLikeOpInterface loop) {
  auto counted = dyn_cast<scf::ForOp>(*loop);
  const bool exchanges = loop->walk([](Operation *op) {
                               return isa<tl::ReduceOp, tl::ScanOp, tlg::ConvertLayoutOp>(op)
                                          ? WalkResult::interrupt()
                                          : WalkResult::advance();
                             })
                             .wasInterrupted();
  if (!counted || exchanges)
    return false;
  llvm::SetVector<Value> stored;
  for (auto store : counted.getBody()->getOps<tl::StoreOp>())
    stored.insert(store.getValue());
  for (size_t i = 0; i < stored.size(); ++i) {
    if (Operation *made = stored[i].getDefiningOp()) {
      if (made->getBlock() == counted.getBody() && !isa<tl::LoadOp>(made))
        stored.insert_range(made->getOperands());
    } else if (cast<BlockArgument>(stored[i]).getOwner() == counted.getBody() &&
               isa<RankedTensorType>(stored[i].getType()) &&
               isa<FloatType>(getElementTypeOrSelf(stored[i].getType()))) {
      return true;
    }
  }
  return false;
}

/// Registers of a thread that a load fills.
int64_t wordsOf(tl::LoadOp load) {
  const Type type = load.getType();
  const int64_t count = tlg::hasLayout(type) ? tlg::layoutOf(type).registerCount() : 1;
  return std::max<int64_t>(1, count * tlg::elementBytes(type) / 4);
}

/// The loads of an innermost loop that stores; none where they are many: ptxas may as well put off
/// to their uses what it may move freely, and in a long body it does, for the sake of registers.
/// None of steps of time either, which are far from one another in memory: loads of many of them at
/// once were slower than those of one.
llvm::SmallVector<tl::LoadOp> fewLoads(LoopLikeOpInterface loop) {
  constexpr int64_t kFew = 4, kFewWords = 8; // instructions, and registers that they fill
  llvm::SmallVector<tl::LoadOp> loads;
  bool stores = false, isInnermost = true;
  int64_t count = 0, words = 0;
  loop->walk([&](Operation *op) {
    isInnermost &= op == loop || !isa<LoopLikeOpInterface>(op);
    stores |= isa<tl::StoreOp>(op);
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      loads.push_back(load);
      count += instructionsOf(load);
      words += wordsOf(load);
    }
  });
  if (!stores || !isInnermost || (count > kFew && words > kFewWords) || isStepOfTime(loop))
    loads.clear();
  return loads;
}

/// Begins loads of a block, each with a store before it, together: as many as fill a few registers.
class LoadsBetweenStores {
public:
  LoadsBetweenStores(Block &block, llvm::function_ref<bool(tl::LoadOp)> isOfReadOnly)
      : block_(block), isOfReadOnly_(isOfReadOnly) {}

  void run() {
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : block_)
      ops.push_back(&op);
    for (Operation *op : ops) {
      if (op->getNumRegions() != 0) {
        last_ = nullptr; // what is loaded would be held all the while
      } else if (isa<tl::StoreOp>(op)) {
        isBehindStore_ = true;
      } else if (auto load = dyn_cast<tl::LoadOp>(op)) {
        if (!last_ || (isBehindStore_ && !moveToOthers(load)))
          begin(load);
        else
          add(load);
      }
    }
  }

private:
  static constexpr int64_t kMostWords = 16;

  void begin(tl::LoadOp load) {
    words_ = 0;
    isBehindStore_ = false;
    add(load);
  }
  void add(tl::LoadOp load) {
    words_ += wordsOf(load);
    last_ = load;
  }

  /// Moves a load, with what it needs, behind the last one of the others.
  bool moveToOthers(tl::LoadOp load) {
    if (words_ + wordsOf(load) > kMostWords)
      return false;
    llvm::SetVector<Operation *> needed;
    needed.insert(load);
    for (size_t i = 0; i < needed.size(); ++i)
      for (const Value operand : needed[i]->getOperands()) {
        Operation *made = operand.getDefiningOp();
        if (!made || made->getBlock() != &block_ || !last_->isBeforeInBlock(made))
          continue;
        if (!isPure(made) || made->getNumRegions() != 0)
          return false;
        needed.insert(made);
      }
    if (!isOfReadOnly_(load))
      return false;
    llvm::SmallVector<Operation *> inOrder(needed.getArrayRef());
    llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Operation *behind = last_;
    for (Operation *op : inOrder) {
      op->moveAfter(behind);
      behind = op;
    }
    return true;
  }

  Block &block_;
  llvm::function_ref<bool(tl::LoadOp)> isOfReadOnly_;
  Operation *last_ = nullptr; ///< of the loads that begin together
  int64_t words_ = 0;         ///< that these fill
  bool isBehindStore_ = false;
};

} // namespace

void markReadOnlyLoads(func::FuncOp function) {
  const std::optional<Arguments> stored = storedArguments(function);
  if (!stored)
    return;
  const auto isOfReadOnly = [&](tl::LoadOp load) {
    const std::optional<unsigned> loaded = argumentOf(load.getPointer());
    if (!loaded || llvm::any_of(*stored, [&](unsigned argument) {
          return mayOverlap(function, *loaded, argument);
        }))
      return false;
    for (const unsigned argument : *stored)
      requireDisjoint(function, *loaded, argument);
    return true;
  };
  Arguments marked;
  function.walk([&](LoopLikeOpInterface loop) {
    for (tl::LoadOp load : fewLoads(loop))
      if (load.getCacheModifier().empty() && isOfReadOnly(load))
        marked.insert(*argumentOf(load.getPointer()));
  });
  // All loads of such an argument: what a plain load has brought into the L1 cache is not found
  // there by one of read-only memory.
  function.walk([&](tl::LoadOp load) {
    const std::optional<unsigned> loaded = argumentOf(load.getPointer());
    if (loaded && marked.contains(*loaded) && load.getCacheModifier().empty())
      load->setAttr(kReadOnlyAttribute, UnitAttr::get(load.getContext()));
  });
  function.walk<WalkOrder::PreOrder>(
      [&](Block *block) { LoadsBetweenStores(*block, isOfReadOnly).run(); });
}

} // namespace blockscope::gpu
