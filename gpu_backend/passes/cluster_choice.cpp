// Which dimension of each block the CTAs of a cluster share.
#include "gpu_backend/passes/cluster_choice.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/commutes.h"
#include "gpu_backend/passes/disjoint_arguments.h"
#include "gpu_backend/passes/shape_transfer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// The fewest rows and columns of a dot that a CTA should have.
constexpr int64_t kFewestRows = 64, kFewestColumns = 32, kLeastOfDot = 16;

constexpr llvm::StringLiteral kLoadsWhatOthersStore =
    "it may load what another CTA of its program stores";
constexpr llvm::StringLiteral kStoresTwice = "two CTAs of its program may store the same element";
constexpr llvm::StringLiteral kNothingToShare =
    "no block has a dimension that the CTAs could share";
constexpr llvm::StringLiteral kSmallDots =
    "its dots are too small to be shared: a CTA should have 16 rows or 32 columns";

llvm::ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

bool isBlockType(Type type) { return isa<RankedTensorType>(type); }

/// What gives elements in their order from the axis's one end to the other.
std::optional<int> orderedAxis(Operation *op) {
  if (auto scan = dyn_cast<tl::ScanOp>(op))
    return static_cast<int>(scan.getAxis());
  if (isa<tl::SortOp>(op))
    return static_cast<int>(shapeOf(op->getResult(0).getType()).size()) - 1;
  if (auto cat = dyn_cast<tl::CatOp>(op))
    return static_cast<int>(cat.getDim());
  return std::nullopt;
}

/// The dimension of `to` that has the same elements together as dimension `dim` of `from`, where
/// both are shapes of one block; kWhole: none.
Split sameDim(llvm::ArrayRef<int64_t> from, Split dim, llvm::ArrayRef<int64_t> to) {
  if (dim == kWhole)
    return kWhole;
  int64_t before = 1;
  for (int i = 0; i < dim; ++i)
    before *= from[i];
  int64_t other = 1;
  for (size_t i = 0; i < to.size(); other *= to[i++])
    // A dimension of 1 before it has the same elements before.
    if (other == before && to[i] != 1)
      return static_cast<Split>(i);
  return kWhole;
}

/// Whether an op works on each element, or each few neighbours of a row, by itself.
bool keepsElements(Operation *op) {
  return tl::isElementwise(op) ||
         isa<tl::InlineAsmOp, tl::MapOp, tl::LoadOp, tl::StoreOp, tl::JoinOp, tl::SplitOp,
             tl::AssumeOp>(op) ||
         tl::isAtomic(op) || isa<tl::ScanOp, tl::SortOp, tl::CatOp>(op);
}

/// Whether it is known what becomes of an op's blocks.
bool isKnown(Operation *op) {
  return keepsElements(op) ||
         isa<arith::ConstantOp, tl::SplatOp, tl::UnsplatOp, tl::RangeOp, tl::ExpandDimsOp,
             tl::BroadcastOp, tl::ReshapeOp, tl::TransOp, tl::GatherOp, tl::DotOp, tl::ScaledOp,
             tl::ReduceOp, tl::HistogramOp, scf::ForOp, scf::WhileOp, scf::IfOp, scf::YieldOp,
             scf::ConditionOp>(op);
}

/// Whether assembly asks for what CTAs of a program have different, or what the grid counts.
bool asksForCta(Operation *op) {
  auto assembly = dyn_cast<tl::InlineAsmOp>(op);
  return assembly &&
         llvm::any_of(llvm::ArrayRef<llvm::StringRef>{"%ctaid", "%nctaid", "%cluster",
                                                      "%nclusterid", "%is_explicit_cluster",
                                                      "%smid", "%clock", "%globaltimer"},
                      [&](llvm::StringRef name) { return assembly.getAsmString().contains(name); });
}

/// Whether a value is made alone of others by an op that gives the same for the same.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isMemoryEffectFree(op);
}

/// Whether two values, maybe in different branches, are computed alike from the same ones.
bool isSame(Value a, Value b, llvm::DenseSet<std::pair<Value, Value>> &known) {
  if (a == b || known.contains({a, b}))
    return true;
  if (!isComputed(a) || !isComputed(b))
    return false;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (first->getName() != second->getName() || first->getNumResults() != 1 ||
      first->getResultTypes() != second->getResultTypes() ||
      first->getNumOperands() != second->getNumOperands() ||
      first->getAttrDictionary() != second->getAttrDictionary())
    return false;
  for (auto [x, y] : llvm::zip(first->getOperands(), second->getOperands()))
    if (!isSame(x, y, known))
      return false;
  known.insert({a, b});
  return true;
}

bool isSame(Value a, Value b) {
  llvm::DenseSet<std::pair<Value, Value>> known;
  return isSame(a, b, known);
}

/// Whether a value may be another one in another iteration of a loop around `user`.
bool changesInLoops(Value value, Operation *user) {
  llvm::DenseSet<Value> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isComputed(next)) {
      llvm::append_range(open, next.getDefiningOp()->getOperands());
      continue;
    }
    Operation *owner = next.getParentRegion()->getParentOp();
    for (auto loop = user->getParentOfType<LoopLikeOpInterface>(); loop;
         loop = loop->getParentOfType<LoopLikeOpInterface>())
      if (loop->isAncestor(owner))
        return true;
  }
  return false;
}

/// The dimension of a scaled operand that is not K; kWhole where dots want it on both sides.
Split lineDim(tl::ScaledOp scaled) {
  bool isA = false, isB = false;
  for (Operation *user : scaled->getUsers())
    if (auto dot = dyn_cast<tl::DotOp>(user)) {
      isA |= dot.getA() == scaled.getResult();
      isB |= dot.getB() == scaled.getResult();
    }
  const auto rank = static_cast<Split>(shapeOf(scaled.getType()).size());
  return isA == isB ? kWhole : rank - (isA ? 2 : 1);
}

bool isCheapAlone(Operation *op) {
  const OpFacts *facts = tl::factsOf(op);
  return isa<tl::BroadcastOp, tl::ExpandDimsOp, tl::TransOp, tl::AddPtrOp, tl::HintOp>(op) ||
         (facts && tl::isElementwise(op) && facts->cost <= OpCost::Divide &&
          isMemoryEffectFree(op));
}

/// A loop's or branch's result stands for the variable that it comes from.
Value canonical(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return value;
  if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
    return loop.getRegionIterArg(result.getResultNumber());
  if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
    return loop.getAfterArguments()[result.getResultNumber()];
  return value;
}

/// All that goes into `target`, a variable or a result of control flow, and from there on.
struct Flow {
  Value target;
  llvm::SmallVector<Value, 2> sources;
};

llvm::SmallVector<Flow> flowsOf(Operation *op) {
  llvm::SmallVector<Flow> flows;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [variable, initial, next] :
         llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getYieldedValues()))
      flows.push_back({variable, {initial, next}});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [variable, initial, next] :
         llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp().getOperands()))
      flows.push_back({variable, {initial, next}});
    for (auto [variable, given] :
         llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs()))
      flows.push_back({variable, {given}});
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      flows.push_back(
          {result, {branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)}});
  }
  llvm::erase_if(flows, [](const Flow &flow) { return !isBlock(flow.target); });
  return flows;
}

} // namespace

// -- from op to op --------------------------------------------------------------------------------

Split operandSplit(Operation *op, unsigned operand, Split split) {
  const Type type = op->getOperand(operand).getType();
  if (!isBlockType(type) || split == kWhole)
    return kWhole;
  const llvm::ArrayRef<int64_t> shape = shapeOf(type);
  if (auto expand = dyn_cast<tl::ExpandDimsOp>(op)) {
    const auto axis = static_cast<int>(expand.getAxis());
    return split == axis ? kWhole : split < axis ? split : split - 1;
  }
  if (isa<tl::BroadcastOp>(op))
    return shape[split] == 1 ? kWhole : split;
  if (auto trans = dyn_cast<tl::TransOp>(op))
    return trans.getOrder()[split];
  if (isa<tl::ReshapeOp>(op))
    return sameDim(shapeOf(op->getResult(0).getType()), split, shape);
  if (auto gather = dyn_cast<tl::GatherOp>(op))
    return operand == 0 && split == static_cast<Split>(gather.getAxis()) ? kWhole : split;
  if (isa<tl::DotOp>(op)) {
    const auto rank = static_cast<int>(shape.size());
    const bool isShared =
        split < rank - 2 || operand == 2 || (operand == 0 ? split == rank - 2 : split == rank - 1);
    return isShared ? split : kWhole;
  }
  if (isa<tl::HistogramOp>(op))
    return kWhole;
  if (auto scaled = dyn_cast<tl::ScaledOp>(op); scaled && operand == 2 && split == lineDim(scaled))
    return static_cast<Split>(shape.size()) - 2; // scales of a line are a row
  return split;
}

Split resultSplit(Operation *op, Split split) {
  auto reduce = dyn_cast<tl::ReduceOp>(op);
  if (!reduce || split == kWhole)
    return split;
  const auto axis = static_cast<Split>(reduce.getAxis());
  return split == axis ? kWhole : split < axis ? split : split - 1;
}

/// How an op is split whose operand is; nothing where that says nothing.
static std::optional<Split> splitOfOp(Operation *op, unsigned operand, Split split) {
  if (split == kWhole)
    return isa<tl::BroadcastOp, tl::GatherOp, tl::DotOp, tl::ScaledOp>(op) ? std::nullopt
                                                                           : std::optional(kWhole);
  if (auto expand = dyn_cast<tl::ExpandDimsOp>(op))
    return split < static_cast<Split>(expand.getAxis()) ? split : split + 1;
  if (auto trans = dyn_cast<tl::TransOp>(op)) {
    const llvm::ArrayRef<int32_t> order = trans.getOrder();
    return static_cast<Split>(llvm::find(order, split) - order.begin());
  }
  if (isa<tl::ReshapeOp>(op))
    return sameDim(shapeOf(op->getOperand(0).getType()), split,
                   shapeOf(op->getResult(0).getType()));
  if (isa<tl::GatherOp>(op) && operand == 0)
    return std::nullopt;
  if (isa<tl::ScaledOp>(op) && operand != 0)
    return std::nullopt;
  if (isa<tl::DotOp, tl::HistogramOp, tl::UnsplatOp>(op))
    return std::nullopt;
  if (isa<tl::SplitOp>(op) &&
      split + 1 == cast<RankedTensorType>(op->getOperand(0).getType()).getRank())
    return std::nullopt;
  return split;
}

/// The block that says how a store or an atomic without a result is split: what is
/// stored, else where; null where both are cheap.
static Value leadingBlock(Operation *op, llvm::function_ref<bool(Value)> isCheap) {
  if (op->getNumResults() != 0 && isBlock(op->getResult(0)))
    return op->getResult(0);
  for (const unsigned operand : {1U, 0U})
    if (operand < op->getNumOperands() && isBlock(op->getOperand(operand)) &&
        !isCheap(op->getOperand(operand)))
      return op->getOperand(operand);
  return {};
}

static bool isLedByOperand(Operation *op) {
  return isa<tl::StoreOp, tl::AssumeOp>(op) || tl::isAtomic(op);
}

// -- the choice -----------------------------------------------------------------------------------

ClusterChoice::ClusterChoice(func::FuncOp function, int numCtas) : numCtas_(numCtas) {
  if (findObstacle(function) || findConflict(function))
    return;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      cheap_[result] = computeCheap(result);
    if (isa<tl::DotOp>(op))
      splits_[op->getResult(0)] = splitOfDot(op);
    // What is written down element by element, and counts, each CTA has.
    if (isa<arith::ConstantOp, tl::HistogramOp>(op) && isBlock(op->getResult(0)) &&
        !isCheap(op->getResult(0)))
      splits_[op->getResult(0)] = kWhole;
  });
  const auto forward = [&](bool whole) {
    return spreadOver(function, /*backward=*/false,
                      [&](Operation *op) { return spreadForward(op, whole); });
  };
  while (true) {
    while (forward(false) || spreadOver(function, /*backward=*/true,
                                        [&](Operation *op) { return spreadBackward(op); })) {
    }
    if (!forward(true) && !giveFirst(function))
      break;
  }
  if (findRepeatedUpdate(function))
    return;
  bool isShared = llvm::any_of(splits_, [](auto split) { return split.second != kWhole; });
  function.walk([&](Operation *op) { isShared |= accessedPointer(op) && ofOp(op) != kWhole; });
  if (isShared)
    return;
  obstacle_ = kNothingToShare;
  function.walk([&](tl::DotOp dot) {
    obstacle_ = kSmallDots;
    obstacleOps_.push_back(dot);
  });
}

bool ClusterChoice::findObstacle(func::FuncOp function) {
  if (!llvm::isPowerOf2_32(static_cast<uint32_t>(numCtas_))) {
    obstacle_ = "a cluster has a power of two of CTAs";
    return true;
  }
  function.walk([&](Operation *op) {
    const bool hasBlocks = llvm::any_of(op->getOperandTypes(), isBlockType) ||
                           llvm::any_of(op->getResultTypes(), isBlockType);
    auto load = dyn_cast<tl::LoadOp>(op);
    if (isa<tl::PrintOp>(op))
      obstacle_ = "it prints";
    else if (isa<tl::InlineAsmVolatileOp, tl::ExternElementwiseVolatileOp>(op))
      obstacle_ = "it has assembly, or a function of a library, with effects";
    else if (asksForCta(op))
      obstacle_ = "it has assembly that asks for its CTA, its multiprocessor or the time";
    else if (isa<tl::AssertOp>(op) && hasBlocks)
      obstacle_ = "it asserts on blocks, as arithmetic on integers does with debug=True";
    else if (load && load.getIsVolatile())
      obstacle_ = "it has a volatile load, which each CTA would do for itself";
    else if (hasBlocks && !isKnown(op))
      obstacle_ = llvm::formatv("'{0}' is not shared among CTAs", op->getName().getStringRef());
    if (obstacle_.empty())
      return WalkResult::advance();
    obstacleOps_ = {op};
    return WalkResult::interrupt();
  });
  return !obstacle_.empty();
}

/// Whether a CTA may load or store what another one stores. Where only different arguments say that
/// it does not, the kernel relies on them.
bool ClusterChoice::findConflict(func::FuncOp function) {
  llvm::SmallVector<Operation *> accesses;
  function.walk([&](Operation *op) {
    if (isa<tl::LoadOp, tl::StoreOp>(op) || (tl::isAtomic(op) && !isa<tl::GlobalTimerOp>(op)))
      accesses.push_back(op);
  });
  llvm::SmallVector<std::pair<unsigned, unsigned>> disjoint;
  for (Operation *write : accesses) {
    if (isa<tl::LoadOp>(write))
      continue;
    const std::optional<unsigned> stored = argumentOf(write->getOperand(0));
    for (Operation *other : accesses) {
      const bool isLoad = isa<tl::LoadOp>(other);
      if (other == write || (tl::isAtomic(write) && tl::isAtomic(other)) ||
          areOfOneCta(write, other))
        continue;
      const std::optional<unsigned> accessed = argumentOf(other->getOperand(0));
      if (!accessed || !stored || mayOverlap(function, *accessed, *stored)) {
        obstacle_ = isLoad ? kLoadsWhatOthersStore : kStoresTwice;
        obstacleOps_ = {write, other};
        return true;
      }
      disjoint.emplace_back(*accessed, *stored);
    }
  }
  for (const auto [accessed, stored] : disjoint)
    requireDisjoint(function, accessed, stored);
  return false;
}

/// Whether each element is accessed by the same CTA by both ops, if they are split alike: through
/// the same pointers, which do not change from one access to the other. Two stores through the same
/// pointers are as one, which may be repeated. What is stored as one number is stored by the first
/// CTA.
bool ClusterChoice::areOfOneCta(Operation *write, Operation *other) {
  Value pointer = write->getOperand(0), second = other->getOperand(0);
  if (!isBlock(pointer) && !isBlock(second))
    return !isa<tl::LoadOp>(other);
  if (!isBlock(pointer) || !isSame(pointer, second))
    return false;
  return (isa<tl::StoreOp>(write) && isa<tl::StoreOp>(other)) || !changesInLoops(pointer, write);
}

/// Whether what is accessed through the same pointers is not by the same CTA.
bool ClusterChoice::findRepeatedUpdate(func::FuncOp function) {
  llvm::SmallVector<llvm::SmallVector<Operation *, 2>> accesses; // by pointers
  function.walk([&](Operation *op) {
    Value pointer = accessedPointer(op);
    if (!pointer)
      return;
    auto *same = llvm::find_if(
        accesses, [&](const auto &ops) { return isSame(ops.front()->getOperand(0), pointer); });
    if (same == accesses.end())
      same = &accesses.emplace_back();
    same->push_back(op);
  });
  const auto isLoad = [](Operation *op) { return isa<tl::LoadOp>(op); };
  for (const llvm::SmallVector<Operation *, 2> &ops : accesses) {
    if (llvm::all_of(ops, isLoad))
      continue;
    for (Operation *op : ops)
      if (ofOp(op) != ofOp(ops.front()) || (isLoad(op) && ofOp(op) == kWhole)) {
        obstacle_ = llvm::any_of(ops, isLoad) ? kLoadsWhatOthersStore : kStoresTwice;
        obstacleOps_ = ops;
        std::swap(obstacleOps_.front(), *llvm::find_if_not(obstacleOps_, isLoad));
      }
  }
  return !obstacle_.empty();
}

bool ClusterChoice::computeCheap(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || !isBlock(value))
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<tl::SplatOp, tl::RangeOp>(op))
    return true;
  return isCheapAlone(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isBlock(operand) || cheap_.lookup(operand);
         });
}

Split ClusterChoice::of(Value value) const {
  const auto found = splits_.find(canonical(value));
  assert(found != splits_.end() && "every block that is not cheap is split or whole");
  return found->second;
}

Split ClusterChoice::ofOp(Operation *op) const {
  if (isLedByOperand(op)) {
    if (Value first = leadingBlock(op, [&](Value value) { return isCheap(value); }))
      return of(first);
    return op->getNumOperands() != 0 && isBlock(op->getOperand(0))
               ? candidate(op->getOperand(0).getType())
               : kWhole;
  }
  if (auto reduce = dyn_cast<tl::ReduceOp>(op)) {
    for (Value operand : reduce.getOperands())
      if (!isCheap(operand))
        return allowed(op, of(operand));
    return allowed(op, candidate(reduce.getOperand(0).getType()));
  }
  for (Value result : op->getResults())
    if (isBlock(result) && !isCheap(result))
      return of(result);
  // One that gives scalars has what it takes.
  return kWhole;
}

bool ClusterChoice::isOpen(Value value) const {
  return isBlock(value) && !isCheap(value) && !splits_.contains(canonical(value));
}

bool ClusterChoice::canShare(Type type, Split split) const {
  return split != kWhole && shapeOf(type)[split] >= numCtas_;
}

Split ClusterChoice::candidate(Type type, int butFor) const {
  for (size_t dim = 0; dim < shapeOf(type).size(); ++dim)
    if (static_cast<int>(dim) != butFor && canShare(type, static_cast<Split>(dim)))
      return static_cast<Split>(dim);
  return kWhole;
}

/// Rows, so that a dot of what it gives needs no exchange, while they suffice for the tensor cores.
Split ClusterChoice::splitOfDot(Operation *dot) const {
  const llvm::ArrayRef<int64_t> shape = shapeOf(dot->getResult(0).getType());
  const auto rank = static_cast<int>(shape.size());
  if (rank == 3 && shape[0] >= numCtas_)
    return 0;
  const int64_t rows = shape[rank - 2] / numCtas_, columns = shape[rank - 1] / numCtas_;
  if (rows >= kFewestRows)
    return rank - 2;
  if (columns >= kFewestColumns)
    return rank - 1;
  if (rows >= kLeastOfDot)
    return rank - 2;
  return kWhole;
}

Split ClusterChoice::allowed(Operation *op, Split split) const {
  if (auto reduce = dyn_cast<tl::ReduceOp>(op)) {
    const Type type = reduce.getOperand(0).getType();
    const auto axis = static_cast<Split>(reduce.getAxis());
    const bool isFree = split != axis || commutes(reduce.getCombine()) ||
                        commutesOnOperands(reduce.getCombine().front(), reduce.getOperands());
    return isFree ? split : candidate(type, axis);
  }
  const std::optional<int> axis = orderedAxis(op);
  if (axis && split == *axis)
    return isa<tl::CatOp>(op) ? kWhole : candidate(op->getResult(0).getType(), *axis);
  if (isa<tl::ReshapeOp>(op)) {
    const Split source = operandSplit(op, 0, split);
    return canShare(op->getOperand(0).getType(), source) ? split : kWhole;
  }
  if (auto scaled = dyn_cast<tl::ScaledOp>(op); scaled && split != kWhole) {
    // Groups along K have one scale.
    const Split line = lineDim(scaled);
    const auto rank = static_cast<Split>(shapeOf(scaled.getType()).size());
    if (line == kWhole || (split >= rank - 2 && split != line))
      return kWhole;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!canShare(operand.getType(), operandSplit(op, static_cast<unsigned>(i), split)))
        return kWhole;
    return split;
  }
  // What is taken apart in pairs stays together.
  if (isa<tl::JoinOp>(op) &&
      split == static_cast<Split>(shapeOf(op->getResult(0).getType()).size()) - 1)
    return kWhole;
  // Neighbours that assembly or a function takes together are in one CTA.
  int64_t together = 1;
  if (auto map = dyn_cast<tl::MapOp>(op))
    together = map.getPack();
  else if (isa<tl::InlineAsmOp>(op))
    together = 16;
  if (together > 1 && split != kWhole) {
    int64_t behind = 1;
    for (const int64_t size : shapeOf(op->getResult(0).getType()).drop_front(split))
      behind *= size;
    if (behind / numCtas_ < together)
      return kWhole;
  }
  return split;
}

bool ClusterChoice::give(Value value, Split split) {
  if (!isOpen(value))
    return false;
  if (!canShare(value.getType(), split))
    split = kWhole;
  value = canonical(value);
  Operation *op = value.getDefiningOp();
  if (op && !isa<tl::ReduceOp>(op))
    split = allowed(op, split);
  if (op && !isa<scf::IfOp>(op)) // all results alike
    for (Value result : op->getResults())
      if (isOpen(result))
        splits_[result] = split;
  splits_[value] = split;
  return true;
}

bool ClusterChoice::spreadForward(Operation *op, bool whole) {
  bool changed = false;
  for (const Flow &flow : flowsOf(op))
    for (Value source : flow.sources)
      if (!isCheap(source) && !isOpen(source) && isOpen(flow.target) &&
          (of(source) == kWhole) == whole)
        changed |= give(flow.target, of(source));
  if (op->getNumResults() == 0 || isa<RegionBranchOpInterface>(op))
    return changed;
  for (Value result : op->getResults()) {
    if (!isOpen(result))
      continue;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!isBlock(operand) || isCheap(operand) || isOpen(operand) ||
          (of(operand) == kWhole) != whole)
        continue;
      const std::optional<Split> split =
          isa<tl::ReduceOp>(op) ? std::optional(resultSplit(op, allowed(op, of(operand))))
                                : splitOfOp(op, static_cast<unsigned>(i), of(operand));
      if (split && (*split == kWhole) == whole)
        changed |= give(result, *split);
      // A sum along what is shared is whole, whoever asks.
      else if (split && isa<tl::ReduceOp>(op))
        changed |= give(result, *split);
    }
  }
  return changed;
}

bool ClusterChoice::spreadBackward(Operation *op) {
  bool changed = false;
  for (const Flow &flow : flowsOf(op))
    if (!isOpen(flow.target))
      for (Value source : flow.sources)
        changed |= give(source, of(flow.target));
  if (isa<RegionBranchOpInterface>(op) || isa<tl::ReduceOp>(op)) {
    // A reduction's operands are split as its result is, where that is split.
    if (auto reduce = dyn_cast<tl::ReduceOp>(op))
      for (Value result : reduce.getResults())
        if (isBlock(result) && !isOpen(result) && of(result) != kWhole)
          for (Value operand : reduce.getOperands())
            changed |= give(
                operand, of(result) + (of(result) >= static_cast<Split>(reduce.getAxis()) ? 1 : 0));
    return changed;
  }
  std::optional<Split> split;
  for (Value result : op->getResults())
    if (isBlock(result) && !isCheap(result) && !isOpen(result))
      split = of(result);
  if (!split && isLedByOperand(op)) {
    Value first = leadingBlock(op, [&](Value value) { return isCheap(value); });
    if (first && !isOpen(first))
      split = of(first);
  }
  if (!split)
    return changed;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (isOpen(operand))
      changed |= give(operand, operandSplit(op, static_cast<unsigned>(i), *split));
  return changed;
}

/// Begins with the first block that nothing has spread to: its first dimension that can be shared,
/// but not one that is reduced, if there is another one.
bool ClusterChoice::giveFirst(func::FuncOp function) {
  Value first;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (!first && isOpen(result))
        first = result;
    for (Region &region : op->getRegions())
      if (!isa<func::FuncOp>(op) && !region.empty())
        for (Value argument : region.front().getArguments())
          if (!first && isOpen(argument))
            first = argument;
    if (first)
      return WalkResult::interrupt();
    return isa<tl::MapOp, tl::ReduceOp, tl::ScanOp>(op) ? WalkResult::skip()
                                                        : WalkResult::advance();
  });
  if (!first)
    return false;
  int butFor = kWhole;
  for (Operation *user : first.getUsers())
    if (auto reduce = dyn_cast<tl::ReduceOp>(user))
      butFor = static_cast<int>(reduce.getAxis());
  Split split = candidate(first.getType(), butFor);
  if (split == kWhole)
    split = candidate(first.getType());
  return give(first, split);
}

} // namespace blockscope::gpu
