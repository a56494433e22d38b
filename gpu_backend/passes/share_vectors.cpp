// A layout with copies, as rows and columns of a tile have it, and one in which each lane has fewer
// elements are the two labels of a least cut (layout_region.h): ops cost what a warp takes for
// them, conversions what their plans say.
#include "gpu_backend/passes/share_vectors.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/conversion.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/clone_in_layout.h"
#include "gpu_backend/passes/combining_cost.h"
#include "gpu_backend/passes/equal_runs.h"
#include "gpu_backend/passes/layout_region.h"
#include "gpu_backend/passes/sink_conversions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

// Beside combining_cost.h.
/// A multiplication and shifts.
constexpr int64_t kConstantDivision = 4;
/// The address and the mask of an access.
constexpr int64_t kAddress = 4;
/// How much more a function of 8 bytes costs, which no special unit computes.
constexpr int64_t kDouble = 4;
constexpr int kLineBytes = 128;

/// The least that is worth a change: what lanes pass on comes later than what each computes.
constexpr int64_t kLeastGain = 100;

OpCost costClass(Operation *op) {
  const OpFacts *facts = tl::factsOf(op);
  return facts ? facts->cost : OpCost::Dot;
}

/// Whether an op is elementwise, of known cost, and does nothing else.
bool isPlain(Operation *op) {
  return tl::factsOf(op) && tl::isElementwise(op) && isMemoryEffectFree(op) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0 && costClass(op) <= OpCost::Function;
}

bool keepsNumbers(Operation *op) { return isa<tl::ExpandDimsOp, tl::ReshapeOp>(op); }

/// Whether an op divides integers by a constant, which takes few instructions.
bool dividesByConstant(Operation *op) {
  return costClass(op) == OpCost::Divide && op->getNumOperands() == 2 &&
         matchPattern(op->getOperand(1), m_Constant());
}

/// Whether something accesses memory in vectors, at addresses computed from `value`: of a vector's
/// addresses a thread computes one, but would be passed all.
bool leadsToVectors(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty())
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (const auto vector = user->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute)) {
        if (use.getOperandNumber() == 0 && vector[1] > 1)
          return true;
      } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
        if (BlockArgument variable = loop.getTiedLoopRegionIterArg(&use))
          open.push_back(variable);
      } else if (isPure(user) && seen.insert(user).second) {
        llvm::append_range(open, user->getResults());
      }
    }
  return false;
}

/// Whether an op belongs to iterations that are not loops themselves.
bool isInInnermostLoop(Operation *op) {
  return op->getParentOfType<LoopLikeOpInterface>() &&
         llvm::none_of(*op->getBlock(),
                       [](Operation &other) { return isa<LoopLikeOpInterface>(other); });
}

/// Whether addresses are computed from `value` in its block.
bool leadsToAddresses(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  llvm::SmallVector<Value> open{value};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<tl::AddPtrOp>(user))
        return true;
      if (isPure(user) && user->getBlock() == value.getParentBlock() && seen.insert(user).second)
        llvm::append_range(open, user->getResults());
    }
  return false;
}

/// Whether a thread loads many indices, such as the places of rows, that are not neighbours: of
/// neighbours it may load vectors, there or at the addresses that they lead to.
bool isManyIndices(Operation *op) {
  constexpr size_t kManyBits = 3;
  if (!isa<tl::LoadOp>(op) || !leadsToAddresses(op->getResult(0)))
    return false;
  const LinearLayout &layout = tlg::layoutOf(op->getResult(0).getType());
  return layout.registers.size() >= kManyBits &&
         cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 1 &&
         !llvm::is_contained(layout.registers, ElementBits{1});
}

/// Whether threads compute many elements that others of their warp compute, too: what is left of
/// rows that were combined, from which something is chosen again and again.
bool isManyCopies(Operation *op) {
  constexpr size_t kManyBits = 5; // registers
  constexpr int kFewCopies = 2;   // as bits
  if (!isPlain(op) || costClass(op) == OpCost::Free ||
      isa<tl::PtrType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return false;
  const LinearLayout &layout = tlg::layoutOf(op->getResult(0).getType());
  return layout.registers.size() >= kManyBits &&
         llvm::popcount(freeBits(layout).lanes) >= kFewCopies &&
         !leadsToAddresses(op->getResult(0));
}

/// What makes it worth looking at a block. Indices are, in innermost loops: elsewhere they cost
/// little, and what is passed on says nothing of how addresses differ.
bool isCostly(Operation *op) {
  if (op->getNumResults() != 1 || !isBlock(op->getResult(0)))
    return false;
  if (isManyCopies(op))
    return true;
  if (isa<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return isManyIndices(op) ||
           (costClass(op) >= OpCost::Divide && (isPlain(op) || isa<tl::ScanOp>(op)) &&
            !dividesByConstant(op) && isInInnermostLoop(op) && !leadsToVectors(op->getResult(0)));
  return isa<tl::ScanOp>(op) || (isPlain(op) && costClass(op) >= OpCost::Divide);
}

/// `layout` with its last registers in the lanes that have copies.
LinearLayout sharedAmongLanes(const LinearLayout &layout) {
  LinearLayout result = layout;
  const uint32_t copies = freeBits(layout).lanes;
  llvm::SmallVector<ElementBits *> open;
  for (auto [bit, basis] : llvm::enumerate(result.lanes))
    if ((copies >> bit) & 1)
      open.push_back(&basis);
  const size_t count = std::min(open.size(), result.registers.size());
  const size_t left = result.registers.size() - count;
  for (size_t i = 0; i < count; ++i)
    *open[i] = result.registers[left + i];
  result.registers.truncate(left);
  return result;
}

/// What a warp takes for ops in either layout.
class WarpWork : public LayoutCosts {
public:
  WarpWork(Block &block, const LayoutPair &pair) : block_(block), pair_(pair) {}

  bool mayChange(Operation *op) const override {
    if (op->getNumResults() != 1 || op->getNumOperands() == 0)
      return false;
    Value result = op->getResult(0);
    const auto isOfPair = [&](Value value) { return !isBlock(value) || pair_.has(value); };
    if (auto reduce = dyn_cast<tl::ReduceOp>(op))
      return !isBlock(result) && pair_.has(reduce->getOperand(0));
    if (!isBlock(result) || !pair_.has(result) || isMadeAgain(result) || hasEqualRegisters(op))
      return false;
    if (isa<tlg::ConvertLayoutOp>(op))
      return !isOfPair(convertedFrom(result));
    if (isa<tl::GatherOp>(op))
      return true;
    return (isPlain(op) || keepsNumbers(op) || isa<tl::ScanOp>(op) || mayLoad(op)) &&
           llvm::all_of(op->getOperands(), isOfPair);
  }

  bool keepsOperand(OpOperand &operand) const override {
    return isa<tlg::ConvertLayoutOp>(operand.getOwner()) ||
           (isa<tl::GatherOp>(operand.getOwner()) && operand.getOperandNumber() == 0);
  }

  /// Whether it is made of ranges and scalars by simple ops.
  bool isMadeAgain(Value value) const override {
    if (const auto known = isMadeAgain_.find(value); known != isMadeAgain_.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    const bool isMade =
        op && (isSplat(op) || isa<tl::RangeOp>(op) ||
               (((isPlain(op) && costClass(op) <= OpCost::Simple && op->getNumOperands() != 0) ||
                 keepsNumbers(op) || isa<tl::BroadcastOp>(op)) &&
                llvm::all_of(op->getOperands(),
                             [&](Value each) { return !isBlock(each) || isMadeAgain(each); })));
    return isMadeAgain_[value] = isMade;
  }

  int64_t ofOp(Operation *op, bool isFirst) const override {
    const LinearLayout &layout = pair_.of(isFirst);
    const int64_t count = layout.registerCount();
    if (auto convert = dyn_cast<tlg::ConvertLayoutOp>(op))
      return conversion(convert.getType(), tlg::layoutOf(convert.getSource().getType()), layout);
    if (auto load = dyn_cast<tl::LoadOp>(op))
      return ofLoad(load, layout);
    if (isa<tl::GatherOp>(op))
      return count * (kWavefrontCost + kAddress);
    if (auto scan = dyn_cast<tl::ScanOp>(op))
      return scanCost(scan, layout);
    if (isa<tl::ReduceOp>(op))
      return ofReduction(op, layout);
    return keepsNumbers(op) ? 0 : count * ofElement(op);
  }

  int64_t ofConversion(Value value, bool toFirst) const override {
    if (isMadeAgain(value))
      return 0;
    const int64_t cost =
        conversion(cast<RankedTensorType>(value.getType()), pair_.of(!toFirst), pair_.of(toFirst));
    Operation *loop = block_.getParentOp();
    return isa<LoopLikeOpInterface>(loop) &&
                   !loop->isAncestor(value.getParentBlock()->getParentOp())
               ? cost / kSupposedTrips
               : cost;
  }

  bool isFree(OpOperand &) const override { return false; }

  void changed(Operation *op) const override {
    auto load = dyn_cast<tl::LoadOp>(op);
    if (!load)
      return;
    const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
    load->setAttr(
        tlg::kVectorAttribute,
        Builder(op->getContext())
            .getDenseI32ArrayAttr({vector[0], widthIn(load, tlg::layoutOf(load.getType()))}));
  }

private:
  /// Whether a thread has equal elements, and knows it: lanes would pass on each of them.
  bool hasEqualRegisters(Operation *op) const {
    const ShapeBits shape(cast<RankedTensorType>(op->getResult(0).getType()).getShape());
    const ElementBits equal = equalBits(op, shape);
    return llvm::any_of(pair_.first.registers,
                        [&](ElementBits basis) { return (basis & equal) != 0; });
  }

  static int64_t ofElement(Operation *op) {
    const bool isWide = llvm::any_of(
        llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())),
        [](Value value) { return isBlock(value) && tlg::elementBytes(value.getType()) == 8; });
    if (dividesByConstant(op))
      return kConstantDivision;
    const int64_t cost = elementCost(op);
    return !isWide ? cost : cost == kSimpleCost ? 2 * cost : kDouble * cost;
  }

  int64_t conversion(RankedTensorType type, const LinearLayout &from,
                     const LinearLayout &to) const {
    return planConversion(from, to, ShapeBits(type.getShape()).width(), tlg::elementBytes(type))
        .cost;
  }

  /// Loads that begin iterations early are copied in the layout of the load, in pieces of 4 bytes
  /// and more. Where warps have copies the launch has checked that no store changes what they load.
  bool mayLoad(Operation *op) const {
    auto load = dyn_cast<tl::LoadOp>(op);
    if (!load || load.getIsVolatile() || !load->hasAttr(tlg::kVectorAttribute) ||
        tlg::layoutOf(load.getType()) != pair_.first ||
        (freeBits(pair_.second).warps & ~freeBits(pair_.first).warps) != 0)
      return false;
    return tlg::elementBytes(load.getType()) >= 4 || !isa<scf::ForOp>(block_.getParentOp()) ||
           llvm::none_of(block_, [](Operation &other) {
             return isa<tl::DotOp, tlg::FmaOp, tlg::MmaOp, tlg::WgmmaOp>(other);
           });
  }

  static int widthIn(tl::LoadOp load, const LinearLayout &layout) {
    const auto vector = load->getAttrOfType<DenseI32ArrayAttr>(tlg::kVectorAttribute);
    const ShapeBits shape(cast<RankedTensorType>(load.getType()).getShape());
    return contiguity(layout, shape, vector[0], vector[1]).length;
  }

  int64_t ofLoad(tl::LoadOp load, const LinearLayout &layout) const {
    const int line = llvm::Log2_32(kLineBytes / tlg::elementBytes(load.getType()));
    const auto lines = llvm::count_if(
        layout.lanes, [&](ElementBits basis) { return basis >= (ElementBits{1} << line); });
    return layout.registerCount() / widthIn(load, layout) * ((kWavefrontCost << lines) + kAddress);
  }

  static int64_t ofReduction(Operation *op, const LinearLayout &layout) {
    const InputBits free = freeBits(layout);
    const auto lanes = static_cast<int64_t>(layout.lanes.size()) - llvm::popcount(free.lanes);
    return (layout.registerCount() - 1) * combineCost(op) +
           lanes * (kShuffleCost + combineCost(op));
  }

  Block &block_;
  const LayoutPair &pair_;
  mutable llvm::DenseMap<Value, bool> isMadeAgain_;
};

/// The layouts that may take the place of `first`: with its copies at work, and those that the
/// block converts it to or from.
llvm::SmallVector<LinearLayout> othersFor(Block &block, const LinearLayout &first) {
  llvm::SmallVector<LinearLayout> others;
  const auto add = [&](const LinearLayout &layout) {
    if (layout.registers.size() < first.registers.size() && !llvm::is_contained(others, layout))
      others.push_back(layout);
  };
  add(sharedAmongLanes(first));
  for (auto convert : block.getOps<tlg::ConvertLayoutOp>()) {
    const LinearLayout from = tlg::layoutOf(convert.getSource().getType()),
                       to = tlg::layoutOf(convert.getType());
    if (to == first)
      add(from);
    else if (from == first)
      add(to);
  }
  return others;
}

/// Whether anything has changed.
bool shareIn(Block &block) {
  bool changed = false;
  llvm::SmallVector<LinearLayout> layouts;
  for (Operation &op : block)
    if (isCostly(&op)) {
      const LinearLayout layout = tlg::layoutOf(op.getResult(0).getType());
      const InputBits free = freeBits(layout);
      if ((free.lanes | free.warps) != 0 && free.registers == 0 && !layout.registers.empty() &&
          !llvm::is_contained(layouts, layout))
        layouts.push_back(layout);
    }
  for (const LinearLayout &first : layouts)
    for (const LinearLayout &second : othersFor(block, first)) {
      const LayoutPair pair{first, second};
      llvm::SmallVector<Operation *> seeds;
      for (Operation &op : block)
        if (isCostly(&op) && tlg::layoutOf(op.getResult(0).getType()) == first)
          seeds.push_back(&op);
      llvm::SmallPtrSet<Operation *, 16> seen;
      for (Operation *seed : seeds) {
        if (seen.contains(seed))
          continue;
        const WarpWork costs(block, pair);
        LayoutRegion region(block, pair, costs);
        region.add(seed);
        region.spread();
        for (Operation *other : seeds)
          if (region.contains(other))
            seen.insert(other);
        if (!region.isTooLarge())
          changed |=
              region.improve([](int64_t now, int64_t then) { return now - then >= kLeastGain; });
      }
    }
  return changed;
}

} // namespace

void shareVectors(func::FuncOp function) {
  bool changed = false;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tl::MapOp, tl::ReduceOp, tl::ScanOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        changed |= shareIn(block);
    return WalkResult::advance();
  });
  if (!changed)
    return;
  eraseUnused(function); // what was made again is not needed in its first layout, mostly
  sinkSpreadingConversions(function);
}

} // namespace blockscope::gpu
