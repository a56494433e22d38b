// Anchors, and how layouts spread from them.
#include "gpu_backend/passes/layout_choice.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/access_layouts.h"
#include "gpu_backend/passes/access_width.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/combining_cost.h"
#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/reduced_dims.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/store_layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The most elements of a thread, as bits, that are loaded where they are used.
constexpr size_t kMostElementBits = 4;

/// The most addresses of a thread for what is loaded where it is used: more of them, each with its
/// mask and mostly with an index that is loaded, too, cost more instructions and registers than a
/// way through shared memory.
constexpr int64_t kMostAddresses = 4;

/// The most elements of a thread, as bits, that are computed by all threads with the same operands:
/// a sum over few costs less than threads that exchange their parts.
constexpr size_t kRepeatedBits = 2;

/// Lanes share elements that all of them would compute where that is at most one part in so many of
/// the work.
constexpr int64_t kLeastShare = 2;

/// Whether an op costs little, besides its operands.
bool isCheapAlone(Operation *op) {
  const OpFacts *facts = tl::factsOf(op);
  return isa<tl::BroadcastOp, tl::ExpandDimsOp, tl::ReshapeOp, tl::TransOp, tl::AddPtrOp,
             tl::HintOp>(op) ||
         (facts && tl::isElementwise(op) && facts->cost <= OpCost::Divide &&
          isMemoryEffectFree(op));
}

/// Whether what computes a block from numbers takes more instructions of each element than a way
/// through shared memory, as random numbers do. Indices hardly ever do.
bool isLong(Value value) {
  constexpr int kMost = 40; // elementwise ops
  const int64_t size = blockType(value).getNumElements();
  llvm::SmallSetVector<Value, 16> chain;
  chain.insert(value);
  int ops = 0;
  for (size_t i = 0; i < chain.size() && ops <= kMost; ++i) {
    Operation *op = chain[i].getDefiningOp();
    ops += tl::isElementwise(op) ? 1 : 0;
    for (Value operand : op->getOperands())
      if (isBlock(operand) && blockType(operand).getNumElements() == size)
        chain.insert(operand);
  }
  return ops > kMost;
}

/// Whether an op's result is a smaller block, repeated.
bool repeats(Operation *op) { return isa<tl::BroadcastOp>(op); }

} // namespace

LayoutChoice::LayoutChoice(func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
                           const GpuOptions &options)
    : axes_(axes), target_(target), options_(options) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      cheap_[result] = computeCheap(result);
    if (auto dot = dyn_cast<tl::DotOp>(op)) {
      dots_[op] = chooseDotLayouts(dot, axes, target, options.numWarps);
      layouts_[dot.getResult()] = dots_[op].accumulator;
    }
  });
  anchor(function);
  llvm::SmallVector<Operation *> anchored;
  function.walk([&](Operation *op) {
    if (accessedPointer(op) && !gathers_.contains(op) && !followers_.contains(op))
      anchored.push_back(op);
  });
  spreadAddresses(anchored);
  spreadSums(function);
  const auto forward = [&](bool ofRepeats) {
    return spreadOver(function, /*backward=*/false,
                      [&](Operation *op) { return repeats(op) == ofRepeats && spreadForward(op); });
  };
  bool changed = true;
  while (changed) {
    while (forward(/*ofRepeats=*/false)) {
    }
    changed =
        spreadOver(function, /*backward=*/true, [&](Operation *op) { return spreadBackward(op); });
    if (changed)
      continue;
    // Where threads have copies of a smaller block, what repeats it has an arbitrary layout: others
    // take such ones last.
    changed = forward(/*ofRepeats=*/true);
    if (changed)
      continue;
    // What is left has no connection to any anchor: begin with the first. Pointers of loads that
    // take the layout of their use wait for it.
    const auto isLeft = [&](Value value) { return isOpen(value) && !steps_.contains(value); };
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<tl::MapOp, tl::ReduceOp, tl::ScanOp>(op))
        for (Value operand : op->getOperands())
          changed = changed || (isLeft(operand) && give(operand, first(operand)));
      for (Region &region : op->getRegions()) // a loop's variables say what is done with them
        if (!isa<func::FuncOp>(op) && !region.empty())
          for (Value argument : region.front().getArguments())
            changed = changed || (isLeft(argument) && give(argument, first(argument)));
      for (Value result : op->getResults())
        changed = changed || (isLeft(result) && give(result, first(result)));
      return changed ? WalkResult::interrupt() : WalkResult::advance();
    });
  }
  for (const auto &loads : {gathers_, followers_})
    for (Operation *op : loads) {
      accesses_[op] = layouts_[op->getResult(0)];
      if (freeBits(accesses_[op]).warps != 0)
        relyOnNoStores(op);
    }
  function.walk([&](tl::StoreOp store) {
    const auto own = layouts_.find(store.getValue());
    if (!isBlock(store.getPointer()) || isCheap(store.getValue()) || own == layouts_.end())
      return;
    const LinearLayout layout = storeLayout(store, own->second, axes_, target_, options_);
    accesses_[store] = layout;
    for (Value variable : steppedPointers(store))
      layouts_[variable] = layout;
  });
}

bool LayoutChoice::computeCheap(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isBlock(value))
    return false;
  if (isa<arith::ConstantOp, tl::SplatOp, tl::RangeOp>(op))
    return true;
  const bool isOfNumbers = llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isBlock(operand) || cheap_.lookup(operand);
  });
  return isOfNumbers && isCheapAlone(op) && !isLong(value);
}

bool LayoutChoice::isCheap(Value value) const { return cheap_.lookup(value); }

/// Whether `value`, of a loop or a whole function, is cheap to compute from what is there before
/// it, and from small loads in it that take any layout.
bool LayoutChoice::isCheapIn(Operation *around, Value value, bool fromLoads) const {
  llvm::SmallSetVector<Value, 16>
      values; // each once: a hash uses its last value twice in each step
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Value each = values[i];
    if (!isBlock(each) || isCheap(each) ||
        !around->isAncestor(each.getParentRegion()->getParentOp()))
      continue;
    Operation *op = each.getDefiningOp();
    if (op && fromLoads && followers_.contains(op))
      continue;
    if (!op || !isCheapAlone(op))
      return false;
    values.insert_range(op->getOperands());
  }
  return true;
}

bool LayoutChoice::isComputedAgain(Value value, const LinearLayout &layout) const {
  Operation *op = value.getDefiningOp();
  Operation *loop = op ? op->getParentOfType<LoopLikeOpInterface>() : nullptr;
  const LinearLayout &own = of(value);
  return loop && layout.registers.size() <= kMostElementBits &&
         (own.lanes != layout.lanes || own.warps != layout.warps) &&
         isCheapIn(loop, value, /*fromLoads=*/false);
}

bool LayoutChoice::isOpen(Value value) const {
  return isBlock(value) && !isCheap(value) && !layouts_.contains(value);
}

const LinearLayout &LayoutChoice::of(Value value) const {
  const auto found = layouts_.find(value);
  assert(found != layouts_.end() && "every block that is not cheap has a layout");
  return found->second;
}

const LinearLayout &LayoutChoice::ofAccess(Operation *op) const {
  return accesses_.find(op)->second;
}
const DotLayouts &LayoutChoice::ofDot(Operation *op) const { return dots_.find(op)->second; }

/// The layout of a block to which none has spread.
LinearLayout LayoutChoice::first(Value value) const {
  const auto found = accesses_.find(value.getDefiningOp());
  return found == accesses_.end() ? fallback(value) : found->second;
}

/// The order in which threads take dimensions of a block that nothing asks more of.
llvm::SmallVector<int> LayoutChoice::orderOf(Value block) const {
  llvm::SmallVector<int> order(blockType(block).getRank());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(order.size() - 1 - i);
  combinedLast(order, block);
  return order;
}

namespace {

/// Has a thread neighbours along `dim`, a warp what lies beside, and warps follow each other: each
/// scans a segment, and what is passed on is one number of it.
LinearLayout inSegments(LinearLayout layout, const ShapeBits &shape, int dim) {
  llvm::SmallVector<ElementBits *> places;
  llvm::SmallVector<ElementBits> along;
  for (Bases *bases : {&layout.registers, &layout.lanes, &layout.warps})
    for (ElementBits &basis : *bases)
      if ((basis & shape.mask(dim)) != 0) {
        places.push_back(&basis);
        along.push_back(basis);
      }
  llvm::sort(along);
  for (auto [place, basis] : llvm::zip(places, along))
    *place = basis;
  return layout;
}

} // namespace

/// Of several orders of dimensions that in which scans of the block, or of others of its layout,
/// cost least: lanes along the scanned dimension take steps for each element.
LinearLayout LayoutChoice::fallback(Value block) const {
  const llvm::SmallVector<int> order = orderOf(block);
  const auto inOrder = [&](llvm::ArrayRef<int> dims) {
    return blockedForAccess(blockType(block).getShape(), dims, 1, options_.numWarps);
  };
  LinearLayout best = inOrder(order);
  const auto combining = combinedLike(block);
  if (!hasScan(combining.getArrayRef()))
    return best;
  int64_t least = costOfCombining(combining.getArrayRef(), best);
  const ShapeBits shape(blockType(block).getShape());
  for (size_t first = 0; first < order.size(); ++first) {
    llvm::SmallVector<int> other(order);
    std::rotate(other.begin(), other.begin() + first, other.begin() + first + 1);
    const LinearLayout layout = inSegments(inOrder(other), shape, other.back());
    if (const int64_t cost = costOfCombining(combining.getArrayRef(), layout); cost < least) {
      least = cost;
      best = layout;
    }
  }
  return best;
}

LinearLayout LayoutChoice::ofCheap(Value block) const {
  const auto isLike = [&](Value value) {
    return isBlock(value) && blockType(value).getShape() == blockType(block).getShape();
  };
  llvm::SmallSetVector<Value, 8> cheap;
  cheap.insert(block);
  for (size_t i = 0; i < cheap.size(); ++i) {
    Value value = cheap[i];
    for (Operation *user : value.getUsers())
      if (tl::isElementwise(user) && user->getNumResults() == 1)
        if (const auto found = layouts_.find(user->getResult(0));
            found != layouts_.end() && isLike(user->getResult(0)))
          return found->second;
    Operation *op = value.getDefiningOp();
    if (tl::isElementwise(op))
      for (Value operand : op->getOperands())
        if (isLike(operand) && isCheap(operand) && tl::isElementwise(operand.getDefiningOp()))
          cheap.insert(operand);
  }
  return fallback(block);
}

/// The layout of what repeats `block`, whose own elements stay in their threads. A thread has few
/// repetitions by itself; more of them are shared among the threads that have copies of `block`.
LinearLayout LayoutChoice::ofRepetitions(Operation *op, const LinearLayout &block) const {
  Value result = op->getResult(0);
  LinearLayout layout = *resultLayout(op, 0, block);
  const llvm::ArrayRef<int64_t> from = blockType(op->getOperand(0)).getShape();
  const ShapeBits shape(blockType(result).getShape());
  llvm::SmallVector<ElementBits> repeated;
  for (const int dim : orderOf(result))
    if (from[dim] == 1)
      for (int bit = 0; bit < shape.width(dim); ++bit)
        repeated.push_back(ElementBits{1} << (shape.shift(dim) + bit));
  size_t next = 0;
  for (Bases *bases : {&layout.lanes, &layout.warps})
    for (ElementBits &basis : *bases)
      if (basis == 0 && next < repeated.size() && layout.registers.size() > kRepeatedBits) {
        basis = repeated[next++];
        llvm::erase(layout.registers, basis);
      }
  if (isExchangedWide(result, layout, block.registers.size()))
    return fallback(result);
  llvm::SmallSetVector<Operation *, 16> elementwise;
  const auto combining = combinedLike(result, &elementwise);
  if (next < repeated.size()) {
    LinearLayout shared = layout;
    for (ElementBits &basis : shared.lanes)
      if (basis == 0 && next < repeated.size()) {
        basis = repeated[next++];
        llvm::erase(shared.registers, basis);
      }
    int64_t ofElement = 0;
    for (Operation *each : elementwise)
      ofElement += elementCost(each);
    const auto work = [&](const LinearLayout &each) {
      return costOfCombining(combining.getArrayRef(), each) + each.registerCount() * ofElement;
    };
    if (kLeastShare * work(shared) <= work(layout))
      layout = shared;
  }
  if (!hasScan(combining.getArrayRef()))
    return layout;
  const LinearLayout other = fallback(result);
  const auto cost = [&](const LinearLayout &each) {
    return costOfCombining(combining.getArrayRef(), each);
  };
  return cost(other) + 2 * kBlockBarrierCost < cost(layout) ? other : layout;
}

/// Whether threads that have a smaller block of 2^`fewBits` registers would exchange many times as
/// many elements to combine what repeats it.
bool LayoutChoice::isExchangedWide(Value block, const LinearLayout &layout, size_t fewBits) const {
  constexpr size_t kWideBits = 5, kTimesBits = 2;
  const ShapeBits shape(blockType(block).getShape());
  for (auto [dim, after] : llvm::enumerate(combinedAfter(block))) {
    if (after != 0) // this one first
      continue;
    const auto isAlong = [&, mask = shape.mask(static_cast<int>(dim))](ElementBits basis) {
      return (basis & mask) != 0;
    };
    const size_t leftBits = layout.registers.size() - llvm::count_if(layout.registers, isAlong);
    if ((llvm::any_of(layout.lanes, isAlong) || llvm::any_of(layout.warps, isAlong)) &&
        leftBits >= std::max(kWideBits, fewBits + kTimesBits))
      return true;
  }
  return false;
}

void LayoutChoice::anchor(func::FuncOp function) {
  const auto layouts = accessLayouts(function, axes_, target_, options_,
                                     [&](Value value) { return isCheap(value); });
  for (const auto &[op, layout] : layouts) {
    if (isFreeGather(op)) {
      gathers_.insert(op);
      gathersAlone_.try_emplace(op, layout);
      continue;
    }
    accesses_[op] = layout;
    if (followsUse(op)) {
      followers_.insert(op);
      steps_.insert_range(steppedPointers(op));
      continue;
    }
    for (Value result : op->getResults())
      layouts_[result] = layout;
  }
}

/// Whether a load's addresses are scattered by what the kernel computes, or all the same: it is as
/// quick in any layout, so it is done in that of what is around it. An index that is loaded may
/// lead to neighbouring elements: such loads have threads lie side by side.
bool LayoutChoice::isFreeGather(Operation *op) const {
  if (!isa<tl::LoadOp>(op))
    return false;
  Value pointer = op->getOperand(0);
  if (llvm::any_of(axes_.at(pointer).dims,
                   [](const AxisInfo::Dim &dim) { return dim.contiguity > 1 || dim.steps > 1; }))
    return false;
  const auto isSame = [&](Value value) {
    return llvm::all_of(llvm::zip(axes_.at(value).dims, blockType(value).getShape()),
                        [](auto dim) { return std::get<0>(dim).constancy >= std::get<1>(dim); });
  };
  if (isCheap(pointer))
    return isSame(pointer);
  // Back through integers, to where the index comes from.
  llvm::SmallVector<Value> open{pointer};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!isBlock(value) || isCheap(value) || !seen.insert(value).second ||
        !isa<IntegerType, tl::PtrType>(getElementTypeOrSelf(value.getType())))
      continue;
    auto argument = dyn_cast<BlockArgument>(value);
    Operation *source = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (auto loop = dyn_cast<scf::ForOp>(source)) {
      const unsigned variable =
          argument ? argument.getArgNumber() - 1 : cast<OpResult>(value).getResultNumber();
      open.push_back(loop.getInitArgs()[variable]);
      open.push_back(loop.getYieldedValues()[variable]);
      continue;
    }
    if (source->getNumRegions() != 0 || isa<tl::LoadOp>(source) || tl::isAtomic(source))
      return false;
    if (!isa<arith::CmpIOp, arith::CmpFOp>(source)) // says which index, is none
      llvm::append_range(open, source->getOperands());
  }
  return true;
}

/// Records that no store of the kernel overlaps what several warps load: one that is behind would
/// load what another one has stored. Stores to the same argument wait (passes/store_order).
void LayoutChoice::relyOnNoStores(Operation *load) const {
  auto function = load->getParentOfType<func::FuncOp>();
  const std::optional<unsigned> loaded = argumentOf(load->getOperand(0));
  if (!loaded)
    return;
  function.walk([&](Operation *op) {
    if (!isa<tl::StoreOp>(op) && !tl::isAtomic(op))
      return;
    const std::optional<unsigned> stored = argumentOf(op->getOperand(0));
    if (stored && !mayOverlap(function, *loaded, *stored))
      requireDisjoint(function, *loaded, *stored);
  });
}

/// Whether loads of a loop may come iterations early: it has several stages, and dots of its own.
bool LayoutChoice::isPipelined(scf::ForOp loop) const {
  const auto asked = loop->getAttrOfType<IntegerAttr>(tl::kNumStagesHint);
  const int64_t stages = asked ? asked.getInt() : options_.numStages;
  const auto findDot = [](Operation *op) {
    return isa<tl::DotOp>(op)             ? WalkResult::interrupt()
           : isa<LoopLikeOpInterface>(op) ? WalkResult::skip()
                                          : WalkResult::advance();
  };
  return stages > 1 && loop.getBody()->walk<WalkOrder::PreOrder>(findDot).wasInterrupted();
}

/// Whether a load of a vector goes, element by element, into tiles of dots and nothing else:
/// factors and biases of an operand. No address waits for it.
bool isFactorOfTile(tl::LoadOp load) {
  if (blockType(load.getPointer()).getRank() != 1)
    return false;
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{load.getResult()};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tl::DotOp>(user) || !seen.insert(user).second)
        continue;
      if (user->getBlock() != load->getBlock() || isa<tl::AddPtrOp>(user) ||
          !isMemoryEffectFree(user) || user->getNumRegions() != 0)
        return false;
      llvm::append_range(open, user->getResults());
    }
  return true;
}

/// The pointers of an access, in a loop and behind it, if they are a variable that says nothing
/// else: `load(p)`, then `p += step`. Such pointers are made in any layout before the loop.
llvm::SmallVector<Value, 3> LayoutChoice::steppedPointers(Operation *access) const {
  auto pointers = dyn_cast<BlockArgument>(access->getOperand(0));
  auto loop = pointers ? dyn_cast<scf::ForOp>(pointers.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || access->getParentOp() != loop)
    return {};
  const unsigned number = pointers.getArgNumber() - 1;
  auto next = loop.getYieldedValues()[number].getDefiningOp<tl::AddPtrOp>();
  const bool isAlone =
      next && next.getPointer() == pointers && next->hasOneUse() && isCheap(next.getOffset()) &&
      isCheap(loop.getInitArgs()[number]) && loop.getResult(number).use_empty() &&
      llvm::all_of(pointers.getUsers(),
                   [&](Operation *user) { return user == access || user == next; });
  if (!isAlone)
    return {};
  return {pointers, next.getResult(), loop.getResult(number)};
}

/// Whether a load, of fewer elements than there are threads, takes the layout in which they are
/// used (rows of factors, biases): several threads load the same, mostly from the L1 cache, instead
/// of passing it on through shared memory with its barriers. Addresses that are computed from such
/// a load do as well, in a loop those from what was loaded before it, too, and those that grow by
/// steps.
/// Those that come iterations early are left to pipelining. What the kernel stores to must not be
/// loaded by threads that are behind.
bool LayoutChoice::followsUse(Operation *op) const {
  auto load = dyn_cast<tl::LoadOp>(op);
  auto function = op->getParentOfType<func::FuncOp>();
  Operation *around = op->getParentOfType<LoopLikeOpInterface>();
  if (!around)
    around = function;
  const auto isMovable = [&](Value value) {
    return !value || !isBlock(value) || isCheap(value) ||
           isCheapIn(around, value, /*fromLoads=*/true);
  };
  if (!load || load.getIsVolatile() || !isMovable(load.getMask()) ||
      blockType(load.getPointer()).getNumElements() > int64_t{32} * options_.numWarps)
    return false;
  auto loop = op->getParentOfType<scf::ForOp>();
  const bool isEarly = loop && isPipelined(loop);
  if (!isMovable(load.getPointer()) && (isEarly || steppedPointers(load).empty()))
    return false;
  if (isEarly && !isFactorOfTile(load))
    return false;
  const std::optional<unsigned> loaded = argumentOf(load.getPointer());
  return loaded && !function
                        .walk([&](Operation *other) {
                          if (!isa<tl::StoreOp>(other) && !tl::isAtomic(other))
                            return WalkResult::advance();
                          const std::optional<unsigned> stored = argumentOf(other->getOperand(0));
                          return stored && !mayOverlap(function, *stored, *loaded)
                                     ? WalkResult::advance()
                                     : WalkResult::interrupt();
                        })
                        .wasInterrupted();
}

/// Whether a loop has asked for copies of what it loads, iterations early. They go through shared
/// memory in any case, from where each thread takes what it uses.
bool isCopiedEarly(Operation *load, const LinearLayout &layout) {
  constexpr size_t kFewBits = 1; // elements of a thread
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  const auto asked = loop ? loop->getAttrOfType<IntegerAttr>(tl::kNumStagesHint) : IntegerAttr();
  return asked && asked.getInt() > 1 && layout.registers.size() > kFewBits;
}

/// Whether a load of fewer elements than threads costs little in the layout of its use.
bool LayoutChoice::isQuickIn(Operation *load, const LinearLayout &layout) const {
  return layout.registers.size() <= kMostElementBits && !isCopiedEarly(load, layout) &&
         addressCount(load->getOperand(0), layout, axes_) <= kMostAddresses;
}

/// Whether several warps would do a gather again in `layout`, one element after another: each once,
/// in the layout that it has alone, passed on through shared memory, is quicker.
bool LayoutChoice::isRepeatedIn(Operation *gather, const LinearLayout &layout) const {
  constexpr int64_t kMany = 16, kTimes = 4;
  Value pointer = gather->getOperand(0);
  const int64_t count = addressCount(pointer, layout, axes_);
  return freeBits(layout).warps != 0 && count >= kMany &&
         count >= kTimes * addressCount(pointer, gathersAlone_.find(gather)->second, axes_);
}

/// Whether a scan makes or takes a block. Its layout is that of what is scanned: where a thread has
/// neighbours it adds them by itself, else lanes do for each of its elements.
bool isOfScan(Value block) {
  return isa_and_nonnull<tl::ScanOp>(block.getDefiningOp()) ||
         llvm::any_of(block.getUsers(), [](Operation *user) { return isa<tl::ScanOp>(user); });
}

/// Pointers and masks are computed in the layouts of their accesses, back to what is small: an
/// index that is loaded or computed for a row is moved, if anything, not the pointers of all its
/// elements. Back to scans, too, of which a store gets places.
void LayoutChoice::spreadAddresses(llvm::ArrayRef<Operation *> accesses) {
  llvm::SmallVector<std::pair<Value, LinearLayout>> open;
  const auto add = [&](Value value, const LinearLayout &layout) {
    if (value && isBlock(value))
      open.emplace_back(value, layout);
  };
  for (Operation *op : accesses) {
    add(op->getOperand(0), accesses_[op]);
    add(maskOf(op), accesses_[op]);
  }
  llvm::DenseSet<Value> seen;
  for (size_t next = 0; next < open.size(); ++next) { // earlier accesses first
    const auto [value, layout] = open[next];
    if (isCheap(value) || isOfScan(value) ||
        !isa<IntegerType, tl::PtrType>(getElementTypeOrSelf(value.getType())))
      continue;
    if (takesLayoutOfUse(value, layout) && seen.insert(value).second) {
      accesses_[value.getDefiningOp()] = layout;
      layouts_[value] = layout;
      // Its own address is not smaller.
      add(value.getDefiningOp()->getOperand(0), layout);
      add(maskOf(value.getDefiningOp()), layout);
      continue;
    }
    if (!give(value, layout))
      continue;
    if (Operation *op = value.getDefiningOp()) {
      if (op->getNumRegions() == 0 && op->getNumResults() == 1)
        for (auto [i, operand] : llvm::enumerate(op->getOperands()))
          if (const auto wanted = operandLayout(op, static_cast<unsigned>(i), layouts_[value]))
            add(operand, *wanted);
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      continue;
    const unsigned variable = argument.getArgNumber() - 1;
    give(loop.getResult(variable), layout);
    add(loop.getYieldedValues()[variable], layout);
    add(loop.getInitArgs()[variable], layout);
  }
}

/// What a loop computes with the sums of its dots, element by element, has their layout, also where
/// it is a variable of the loop: what is loaded beside it mostly comes from a ring, which is read
/// in any layout, and what is a variable's first value is moved once.
void LayoutChoice::spreadSums(func::FuncOp function) {
  llvm::SmallVector<Value> open;
  function.walk([&](tl::DotOp dot) {
    // Dots by threads have layouts of their own, which suit what each of them reads.
    if (isa<scf::ForOp>(dot->getParentOp()) && dots_[dot].kind != DotKind::Fma)
      open.push_back(dot);
  });
  while (!open.empty()) {
    Value value = open.pop_back_val();
    const LinearLayout layout = layouts_[value];
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != value.getParentBlock())
        continue;
      Value next;
      if (isa<scf::YieldOp>(user))
        next = cast<scf::ForOp>(user->getParentOp()).getRegionIterArg(use.getOperandNumber());
      else if (tl::isElementwise(user) && user->getNumResults() == 1)
        next = user->getResult(0);
      if (next && give(next, layout))
        open.push_back(next);
    }
  }
  llvm::DenseSet<Value> seen;
  function.walk([&](tl::DotOp dot) {
    if (isa<scf::ForOp>(dot->getParentOp()) && dots_[dot].kind != DotKind::Fma)
      spreadToVariables(dot, LinearLayout(layouts_[dot]), seen);
  });
}

/// What a loop makes of the sums of its dots on the way to its variables, reduced and with another
/// shape, has the layout that follows from theirs: what such a variable is at first, and behind the
/// loop, is moved once. Returns whether a variable was reached.
bool LayoutChoice::spreadToVariables(Value value, const LinearLayout &layout,
                                     llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return false;
  bool isReached = false;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != value.getParentBlock())
      continue;
    if (isa<scf::YieldOp>(user)) {
      // An `if` that a loop's result leaves by has layouts of its own.
      auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
      if (!loop || !give(loop.getRegionIterArg(use.getOperandNumber()), layout))
        continue;
      isReached = true;
      Value result = loop.getResult(use.getOperandNumber());
      give(result, layout);
      spreadToVariables(result, layout, seen); // of a loop around it
      continue;
    }
    if (user->getNumResults() != 1 || !isOpen(user->getResult(0)) ||
        !(tl::isElementwise(user) || isa<tl::ReduceOp, tl::ReshapeOp, tl::ExpandDimsOp>(user)))
      continue;
    const auto next = resultLayout(user, use.getOperandNumber(), layout);
    if (next && spreadToVariables(user->getResult(0), *next, seen)) {
      give(user->getResult(0), *next);
      isReached = true;
    }
  }
  return isReached;
}

/// Whether a loaded index is loaded in the layout in which it is used, several threads loading the
/// same element: few loads, which mostly find their data in the L1 cache, cost less than a way
/// through shared memory with its barriers.
bool LayoutChoice::takesLayoutOfUse(Value value, const LinearLayout &layout) const {
  const auto isShared = [](const Bases &bases) { return llvm::is_contained(bases, 0); };
  return value.getDefiningOp<tl::LoadOp>() && (isShared(layout.lanes) || isShared(layout.warps)) &&
         layout.registers.size() <= kMostElementBits &&
         !isCopiedEarly(value.getDefiningOp(), layout) &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return user->getNumResults() == 1 &&
                  (tl::isElementwise(user) || isa<tl::ExpandDimsOp, tl::BroadcastOp>(user));
         });
}

bool LayoutChoice::give(Value value, const std::optional<LinearLayout> &layout) {
  if (!layout || !isOpen(value))
    return false;
  Operation *op = value.getDefiningOp();
  const bool isSlow = followers_.contains(op) && !isQuickIn(op, *layout);
  if (isSlow || (gathers_.contains(op) && isRepeatedIn(op, *layout))) {
    const LinearLayout own = isSlow ? accesses_[op] : gathersAlone_.find(op)->second;
    followers_.remove(op);
    gathers_.remove(op);
    for (Value variable : steppedPointers(op))
      steps_.erase(variable);
    accesses_[op] = own;
    layouts_[value] = own;
    spreadAddresses(op);
    return true;
  }
  layouts_[value] = withoutRegisterCopies(*layout);
  return true;
}

/// Values that are one variable of a loop: the first layout among them is that of all.
bool LayoutChoice::tie(llvm::ArrayRef<Value> values) {
  for (Value value : values) {
    const auto found = layouts_.find(value);
    if (found == layouts_.end())
      continue;
    const LinearLayout layout = found->second;
    bool changed = false;
    for (Value other : values)
      changed |= give(other, layout);
    return changed;
  }
  return false;
}

bool LayoutChoice::spreadForward(Operation *op) {
  bool changed = false;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      changed |=
          tie({argument, loop.getYieldedValues()[i], loop.getResult(i), loop.getInitArgs()[i]});
    return changed;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [i, argument] : llvm::enumerate(loop.getBeforeArguments()))
      changed |= tie({argument, loop.getYieldOp().getOperand(i), loop.getInits()[i]});
    for (auto [i, argument] : llvm::enumerate(loop.getAfterArguments()))
      changed |= tie({argument, loop.getConditionOp().getArgs()[i], loop.getResult(i)});
    return changed;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      changed |= tie({result, branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)});
    return changed;
  }
  if (isa<tl::DotOp>(op) || followers_.contains(op) ||
      !llvm::any_of(op->getResults(), [&](Value r) { return isOpen(r); }))
    return false;
  if (gathers_.contains(op)) {
    const auto found = layouts_.find(op->getOperand(0));
    return found != layouts_.end() && give(op->getResult(0), LinearLayout(found->second));
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const auto found = layouts_.find(operand);
    if (found == layouts_.end())
      continue;
    const std::optional<LinearLayout> layout =
        repeats(op) ? ofRepetitions(op, found->second)
                    : resultLayout(op, static_cast<unsigned>(i), found->second);
    if (!layout)
      continue;
    for (Value result : op->getResults())
      changed |= give(result, layout);
    return changed;
  }
  return false;
}

bool LayoutChoice::spreadBackward(Operation *op) {
  bool changed = false;
  if (accessedPointer(op)) {
    const bool isOfUse = gathers_.contains(op) || followers_.contains(op);
    if (isOfUse && !layouts_.contains(op->getResult(0)))
      return false;
    const LinearLayout layout = isOfUse ? layouts_[op->getResult(0)] : accesses_[op];
    for (Value operand : op->getOperands())
      changed |= isOpen(operand) && give(operand, layout);
    return changed;
  }
  if (auto dot = dyn_cast<tl::DotOp>(op))
    return give(dot.getAcc(), dots_[op].accumulator);
  if (op->getNumResults() == 0 || !layouts_.contains(op->getResult(0)) ||
      isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op))
    return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    changed |= isOpen(operand) && give(operand, operandLayout(op, static_cast<unsigned>(i),
                                                              layouts_[op->getResult(0)]));
  return changed;
}

} // namespace blockscope::gpu
