// After layouts are chosen: the bits of the axis that are registers of a thread are reduced in the
// loop, those that are lanes and warps behind it.
#include "gpu_backend/passes/reduce_after_loops.h"

#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "gpu_backend/passes/reductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// What changes nothing that it is combined with by an op of this name; nothing for other ops.
TypedAttr identityOf(Operation *combine, Type element) {
  Builder builder(element.getContext());
  if (isa<arith::AddFOp, arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(combine))
    return builder.getZeroAttr(element);
  if (isa<arith::MaxNumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MinimumFOp>(combine)) {
    const bool isMost = isa<arith::MaxNumFOp, arith::MaximumFOp>(combine);
    return builder.getFloatAttr(
        element, llvm::APFloat::getInf(cast<FloatType>(element).getFloatSemantics(), isMost));
  }
  if (!element.isInteger())
    return {};
  const unsigned width = element.getIntOrFloatBitWidth();
  if (isa<arith::AndIOp, arith::MinUIOp>(combine))
    return builder.getIntegerAttr(element, llvm::APInt::getAllOnes(width));
  if (isa<arith::MaxSIOp>(combine))
    return builder.getIntegerAttr(element, llvm::APInt::getSignedMinValue(width));
  if (isa<arith::MinSIOp>(combine))
    return builder.getIntegerAttr(element, llvm::APInt::getSignedMaxValue(width));
  return {};
}

/// The only op of a combine function that has one, of both its arguments; null for others.
Operation *onlyOp(tl::ReduceOp reduce) {
  Block &block = reduce.getCombine().front();
  if (!llvm::hasNItems(block, 2))
    return nullptr;
  Operation *op = &block.front();
  const bool isOfBoth = op->getNumOperands() == 2 && op->getOperand(0) != op->getOperand(1) &&
                        llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  return isOfBoth && block.getTerminator()->getOperand(0) == op->getResult(0) ? op : nullptr;
}

/// A run of neighbouring bits of the axis, lowest bits last, as a dimension of its own.
struct Run {
  int64_t size = 1;
  bool isOfThread = false; ///< in registers
};

/// The axis as runs, outermost first; empty where a register is of the axis and of more.
llvm::SmallVector<Run> runsOf(const LinearLayout &layout, const ShapeBits &shape, int axis) {
  const ElementBits mask = shape.mask(axis);
  ElementBits registers = 0;
  for (const ElementBits basis : layout.registers)
    if ((basis & mask) != 0) {
      if (!llvm::isPowerOf2_32(basis))
        return {};
      registers |= basis;
    }
  for (const Bases *others : {&layout.lanes, &layout.warps})
    for (const ElementBits basis : *others)
      if ((basis & registers) != 0)
        return {};
  llvm::SmallVector<Run> runs;
  for (int bit = shape.shift(axis) + shape.width(axis) - 1; bit >= shape.shift(axis); --bit) {
    const bool isOfThread = (registers >> bit & 1) != 0;
    if (runs.empty() || runs.back().isOfThread != isOfThread)
      runs.push_back({1, isOfThread});
    runs.back().size *= 2;
  }
  return runs;
}

/// The variable that a loop combines with what it reduces.
struct Running {
  scf::ForOp loop;
  unsigned variable = 0;
  Operation *combine = nullptr;
  llvm::SmallVector<Operation *, 2> views; ///< from the reduction to `combine`, last first
  tl::ReduceOp reduce;
  llvm::SmallVector<Run> axis; ///< of the reduction
};

/// Maxima and minima by number drop a NaN that the variable begins with.
bool beginsWithNumber(const Running &running) {
  if (!isa<arith::MaxNumFOp, arith::MinNumFOp>(running.combine))
    return true;
  Attribute value;
  if (!matchPattern(scf::ForOp(running.loop).getInitArgs()[running.variable], m_Constant(&value)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(value))
    return !number.getValue().isNaN();
  auto numbers = dyn_cast<SplatElementsAttr>(value);
  return numbers && !numbers.getSplatValue<llvm::APFloat>().isNaN();
}

/// Whether threads then hold about as much as before: the variable may be spread over lanes that
/// have copies of what is reduced.
bool isFewEnough(const Running &running) {
  constexpr int kFew = 8;
  const auto registersOf = [](Operation *op) {
    const Type type = op->getResult(0).getType();
    return isa<RankedTensorType>(type) ? tlg::layoutOf(type).registerCount() : 1;
  };
  return registersOf(running.reduce) <= std::max(registersOf(running.combine), kFew);
}

std::optional<Running> match(scf::ForOp loop, unsigned variable) {
  Value before = loop.getRegionIterArg(variable);
  Operation *combine = before.hasOneUse() ? *before.user_begin() : nullptr;
  if (!combine || combine->getBlock() != loop.getBody() || combine->getNumOperands() != 2 ||
      combine->getNumResults() != 1 || !combine->getResult(0).hasOneUse() ||
      loop.getYieldedValues()[variable] != combine->getResult(0))
    return std::nullopt;
  Running running{loop, variable, combine, {}, {}, {}};
  Value value = combine->getOperand(combine->getOperand(0) == before ? 1 : 0);
  while (Operation *op = value.getDefiningOp()) {
    if (op->getBlock() != loop.getBody() || !op->hasOneUse())
      return std::nullopt;
    if ((running.reduce = dyn_cast<tl::ReduceOp>(op)))
      break;
    if (!isa<tlg::ConvertLayoutOp, tl::ExpandDimsOp, tl::ReshapeOp>(op))
      return std::nullopt;
    running.views.push_back(op);
    value = op->getOperand(0);
  }
  if (!running.reduce || running.reduce.getNumOperands() != 1)
    return std::nullopt;
  Operation *function = onlyOp(running.reduce);
  const bool fits = function && function->getName() == combine->getName() &&
                    identityOf(combine, getElementTypeOrSelf(before.getType())) &&
                    beginsWithNumber(running) && isInAnyOrder(running.reduce) &&
                    isAmongThreads(running.reduce) && isFewEnough(running);
  if (!fits)
    return std::nullopt;
  const auto type = cast<RankedTensorType>(running.reduce.getOperand(0).getType());
  running.axis = runsOf(tlg::layoutOf(type), ShapeBits(type.getShape()),
                        static_cast<int>(running.reduce.getAxis()));
  return running.axis.empty() ? std::nullopt : std::optional(running);
}

class Rewriter {
public:
  explicit Rewriter(const Running &running)
      : running_(running), builder_(running.reduce), location_(running.reduce->getLoc()) {}

  void run() {
    carry(reduceInThreads());
    reduceBehind();
  }

private:
  /// Each thread's part of the block: along the axis what lanes and warps have of it.
  Value reduceInThreads() {
    Value block = running_.reduce.getOperand(0);
    const llvm::ArrayRef<int64_t> whole = cast<RankedTensorType>(block.getType()).getShape();
    const auto axis = static_cast<int>(running_.reduce.getAxis());
    llvm::SmallVector<int64_t> split(whole), left(whole);
    split.erase(split.begin() + axis);
    left[axis] = 1;
    for (const auto [i, run] : llvm::enumerate(running_.axis)) {
      split.insert(split.begin() + axis + static_cast<int64_t>(i), run.size);
      if (!run.isOfThread)
        left[axis] *= run.size;
    }
    Value held = reshaped(block, split);
    for (int i = static_cast<int>(running_.axis.size()) - 1; i >= 0; --i)
      if (running_.axis[i].isOfThread)
        held = reduced(held, axis + i);
    return reshaped(held, left);
  }

  Value reshaped(Value block, llvm::ArrayRef<int64_t> shape) {
    const auto type = cast<RankedTensorType>(block.getType());
    if (type.getShape() == shape)
      return block;
    return tl::ReshapeOp::create(
        builder_, location_,
        RankedTensorType::get(shape, type.getElementType(), type.getEncoding()), block);
  }

  Value reduced(Value block, int axis) {
    const auto type = cast<RankedTensorType>(block.getType());
    llvm::SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + axis);
    Type made = type.getElementType();
    if (!shape.empty())
      made = tlg::withLayout(RankedTensorType::get(shape, type.getElementType()),
                             sliced(tlg::layoutOf(type), ShapeBits(type.getShape()), axis));
    auto part = cast<tl::ReduceOp>(builder_.clone(*running_.reduce));
    part->setOperand(0, block);
    part.setAxis(axis);
    part->getResult(0).setType(made);
    return part->getResult(0);
  }

  /// The loop's variable is what each thread has combined, from nothing on.
  void carry(Value held) {
    scf::ForOp loop = running_.loop;
    const auto type = cast<RankedTensorType>(held.getType());
    Operation *combine = running_.combine;
    BlockArgument variable = loop.getRegionIterArg(running_.variable);
    begin_ = loop.getInitArgs()[running_.variable];
    builder_.setInsertionPoint(loop);
    const auto identity =
        SplatElementsAttr::get(type, cast<Attribute>(identityOf(combine, type.getElementType())));
    Value nothing = arith::ConstantOp::create(builder_, location_, identity);
    loop->setOperand(loop.getNumControlOperands() + running_.variable, nothing);
    variable.setType(type);
    loop.getResult(running_.variable).setType(type);
    isFirst_ = combine->getOperand(0) == variable;
    resultType_ = combine->getResult(0).getType();
    combine->setOperands({isFirst_ ? Value(variable) : held, isFirst_ ? held : Value(variable)});
    combine->getResult(0).setType(type);
  }

  void reduceBehind() {
    scf::ForOp loop = running_.loop;
    builder_.setInsertionPointAfter(loop);
    Value all = loop.getResult(running_.variable);
    Value value = reduced(all, static_cast<int>(running_.reduce.getAxis()));
    Operation *reduce = value.getDefiningOp();
    const Type wanted = running_.reduce.getResult(0).getType();
    if (value.getType() != wanted)
      value = tlg::ConvertLayoutOp::create(builder_, location_, wanted, value);
    for (Operation *view : llvm::reverse(running_.views)) {
      IRMapping mapping;
      mapping.map(view->getOperand(0), value);
      value = builder_.clone(*view, mapping)->getResult(0);
    }
    Operation *last = builder_.clone(*running_.combine);
    last->setOperands({isFirst_ ? begin_ : value, isFirst_ ? value : begin_});
    last->getResult(0).setType(resultType_);
    all.replaceAllUsesExcept(last->getResult(0), reduce);
    for (Operation *view : running_.views)
      view->erase();
    running_.reduce->erase();
  }

  Running running_;
  OpBuilder builder_;
  Location location_;
  Value begin_;
  Type resultType_;
  bool isFirst_ = true;
};

} // namespace

void reduceAfterLoops(func::FuncOp function) {
  llvm::SmallVector<scf::ForOp> loops;
  function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      if (const auto running = match(loop, i))
        Rewriter(*running).run();
}

} // namespace blockscope::gpu
