// Rewrites a kernel so that every tensor type has a layout.
//
// The new function is built op by op beside the old one. `require(value, layout)` gives the new
// value of an old one in a layout: the one that exists, a cheap op made again, or a conversion,
// made once where the value is defined.
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/layout/blocked_layout.h"
#include "gpu_backend/layout/layout_queries.h"
#include "gpu_backend/layout/shape_layouts.h"
#include "gpu_backend/passes/access_width.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/commutes.h"
#include "gpu_backend/passes/kernel_rewriter.h"
#include "gpu_backend/passes/layout_choice.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/scaled_dots.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/split_dots.h"
#include "gpu_backend/passes/wide_dot_sums.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

bool haveSameShape(Value a, Value b) {
  return isBlock(a) && isBlock(b) &&
         cast<ShapedType>(a.getType()).getShape() == cast<ShapedType>(b.getType()).getShape();
}

llvm::ArrayRef<int64_t> blockShape(Value block) {
  return cast<RankedTensorType>(block.getType()).getShape();
}

class LayoutAssigner : public KernelRewriter {
public:
  LayoutAssigner(func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
                 const LayoutChoice &choice)
      : KernelRewriter(function), axes_(axes), target_(target), choice_(choice) {}

  func::FuncOp rewrite() {
    func::FuncOp function = rewriteFunction();
    for (Operation *marker : markers_)
      marker->erase();
    return function;
  }

private:
  // -- old values in new form ---------------------------------------------------------------------

  Value require(Value value, const LinearLayout &layout) {
    const tlg::LayoutAttr attribute = tlg::toAttribute(value.getContext(), layout);
    Value &known = made_[{value, attribute}];
    if (known)
      return known;
    const OpBuilder::InsertionGuard guard(builder_);
    Value result;
    if (choice_.isCheap(value)) {
      builder_.setInsertionPoint(placeOf_.lookup(value.getDefiningOp()));
      result = remake(value.getDefiningOp(), layout);
    } else {
      Value primary = primary_.lookup(value);
      assert(primary && "a block is used before it is made");
      builder_.setInsertionPointAfterValue(primary);
      // What repeats a smaller block: that one is converted.
      Operation *op = value.getDefiningOp();
      result = op && (isa<tl::BroadcastOp, tl::ExpandDimsOp>(op) ||
                      choice_.isComputedAgain(value, layout))
                   ? remake(op, layout)
                   : convert(primary, layout, value.getLoc());
    }
    made_[{value, attribute}] = result; // `known` may have moved
    return result;
  }

  Value convert(Value value, const LinearLayout &layout, Location location) {
    if (tlg::layoutOf(value.getType()) == layout)
      return value;
    return tlg::ConvertLayoutOp::create(builder_, location,
                                        tlg::withLayout(value.getType(), layout), value);
  }

  /// The operand of an op that is rewritten: blocks in `layout`, all else as it is.
  Value operandIn(Value value, const std::optional<LinearLayout> &layout) {
    if (!isBlock(value))
      return scalars_.lookup(value);
    return require(value, layout ? *layout : own(value));
  }

  /// The layout that a block has by itself.
  LinearLayout own(Value value) {
    return choice_.isCheap(value) ? choice_.fallback(value) : choice_.of(value);
  }

  void define(Value value, Value made) final {
    if (!isBlock(value)) {
      scalars_.map(value, made);
      return;
    }
    primary_[value] = made;
    made_[{value, tlg::toAttribute(value.getContext(), tlg::layoutOf(made.getType()))}] = made;
  }

  /// Makes a cheap op again so that its result has `layout`.
  Value remake(Operation *op, const LinearLayout &layout) {
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(operandIn(operand, operandLayout(op, static_cast<unsigned>(i), layout)));
    return create(op, operands, {tlg::withLayout(op->getResult(0).getType(), layout)})
        ->getResult(0);
  }

  Operation *create(Operation *op, llvm::ArrayRef<Value> operands, TypeRange types) {
    Operation *made = createAgain(op, operands, types);
    annotateEqualRuns(op, made);
    return made;
  }

  /// Writes down runs of elements that are equal, where the operands do not show it by themselves:
  /// a thread computes one of a run. Quotients of a range are the same for as many elements as the
  /// divisor, most masks compare a range with a size that both have a common divisor. What lies at
  /// one address is loaded once.
  void annotateEqualRuns(Operation *op, Operation *made) {
    auto load = dyn_cast<tl::LoadOp>(op);
    if (op->getNumResults() != 1 || !isBlock(op->getResult(0)) || (!load && !tl::isElementwise(op)))
      return;
    llvm::SmallVector<int32_t> ofOperands(blockShape(op->getResult(0)));
    for (Value operand : op->getOperands())
      if (isBlock(operand))
        for (auto [run, other] : llvm::zip(ofOperands, constancyOf(operand)))
          run = std::min(run, other);
    const auto isRun = [](int32_t run) { return run > 1; };
    if (load) {
      if (!load.getIsVolatile() && llvm::any_of(ofOperands, isRun))
        made->setAttr(tlg::kEqualRunsAttribute, builder_.getDenseI32ArrayAttr(ofOperands));
      return;
    }
    const llvm::SmallVector<int32_t> runs = constancyOf(op->getResult(0));
    if (llvm::any_of(llvm::zip(runs, ofOperands),
                     [](auto pair) { return std::get<0>(pair) > std::get<1>(pair); }))
      made->setAttr(tlg::kEqualRunsAttribute, builder_.getDenseI32ArrayAttr(runs));
  }

  /// How many elements in a row are equal along each dimension of a block.
  llvm::SmallVector<int32_t> constancyOf(Value block) const {
    llvm::SmallVector<int32_t> runs(blockShape(block));
    if (matchPattern(block, m_Constant()) || block.getDefiningOp<tl::SplatOp>())
      return runs;
    for (auto [run, dim] : llvm::zip(runs, axes_.at(block).dims))
      run = static_cast<int32_t>(std::min<int64_t>(run, dim.constancy));
    return runs;
  }

  // -- ops
  // ------------------------------------------------------------------------------------------

  void rewriteOp(Operation *op) final {
    if (op->getNumResults() == 1 && choice_.isCheap(op->getResult(0))) {
      // Made where it is wanted, but placed here: what it uses is before, what uses it after.
      auto marker = arith::ConstantOp::create(builder_, op->getLoc(), builder_.getBoolAttr(false));
      markers_.push_back(marker);
      placeOf_[op] = marker;
      return;
    }
    const bool isAccess = isa<tl::LoadOp, tl::StoreOp>(op) || tl::isAtomic(op);
    if (isAccess && isBlock(op->getOperand(0)))
      return rewriteAccess(op);
    if (auto dot = dyn_cast<tl::DotOp>(op))
      return rewriteDot(dot);
    rewritePlain(op);
  }

  /// An op whose operands follow from the layout of its result, or the other way round.
  void rewritePlain(Operation *op) {
    llvm::SmallVector<Value> operands;
    llvm::SmallVector<Type> types;
    // Reductions and shape ops that add or take bits have the layout that their operand gives them.
    const bool fromOperand = isa<tl::ReduceOp, tl::JoinOp, tl::CatOp>(op);
    const bool hasBlockResult = op->getNumResults() != 0 && isBlock(op->getResult(0));
    std::optional<LinearLayout> result;
    if (hasBlockResult)
      result = own(op->getResult(0));
    if (fromOperand) {
      std::optional<LinearLayout> operand;
      for (Value value : op->getOperands())
        if (isBlock(value) && !choice_.isCheap(value) && !operand)
          operand = choice_.of(value);
      if (isa<tl::JoinOp, tl::CatOp>(op) && result)
        operand = operandLayout(op, 0, *result);
      if (isa<tl::JoinOp>(op) && !isBlock(op->getOperand(0))) // of scalars
        operand = split(*result);
      if (!operand && isBlock(op->getOperand(0)))
        operand = choice_.ofCheap(op->getOperand(0));
      for (Value value : op->getOperands())
        operands.push_back(operandIn(value, operand));
      if (hasBlockResult && operand)
        result = resultLayout(op, 0, *operand);
    } else {
      std::optional<LinearLayout> shared;
      for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
        std::optional<LinearLayout> layout;
        if (result)
          layout = operandLayout(op, static_cast<unsigned>(i), *result);
        if (isa<tl::AssertOp>(op) && haveSameShape(op->getOperand(0), operand)) {
          if (!shared) // one thread looks at the same element of condition and mask
            shared = own(operand);
          layout = shared;
        }
        if (isa<tl::SplitOp>(op) && !result) // to scalars, which every thread has
          layout = joined(split(own(operand)));
        operands.push_back(operandIn(operand, layout));
      }
    }
    for (Type type : op->getResultTypes())
      types.push_back(isa<RankedTensorType>(type) ? Type(tlg::withLayout(type, *result)) : type);
    Operation *made = create(op, operands, types);
    for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
      define(before, after);
  }

  void rewriteAccess(Operation *op) {
    const LinearLayout &layout = choice_.ofAccess(op);
    llvm::SmallVector<Value> operands;
    llvm::SmallVector<Type> types;
    for (Value operand : op->getOperands())
      operands.push_back(operandIn(operand, layout));
    for (Type type : op->getResultTypes())
      types.push_back(tlg::withLayout(type, layout));
    Operation *made = create(op, operands, types);
    annotate(op, made, layout);
    for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
      define(before, after);
  }

  /// Writes down how many elements go in one instruction, while the facts are at hand.
  void annotate(Operation *op, Operation *made, const LinearLayout &layout) {
    Value pointer = op->getOperand(0);
    const int dim = axes_.orderOf(pointer)[0];
    const ShapeBits shape(cast<RankedTensorType>(pointer.getType()).getShape());
    const auto width = static_cast<int>(accessWidth(op, axes_, target_, dim));
    made->setAttr(tlg::kVectorAttribute, builder_.getDenseI32ArrayAttr(
                                             {dim, contiguity(layout, shape, dim, width).length}));
  }

  void rewriteDot(tl::DotOp dot) {
    const DotLayouts &layouts = choice_.ofDot(dot);
    llvm::SmallVector<Value, 2> scales;
    for (auto [scale, layout] : llvm::zip(dot.getScales(), layouts.scales))
      scales.push_back(require(scale, layout));
    define(dot, createDot(builder_, dot, layouts, operandIn(dot.getA(), layouts.a),
                          operandIn(dot.getB(), layouts.b),
                          require(dot.getAcc(), layouts.accumulator), scales));
  }

  Type newType(Value value) final {
    return isBlock(value) ? Type(tlg::withLayout(value.getType(), own(value))) : value.getType();
  }

  /// In the layout of the variable that it goes into.
  Value newValue(Value value, Value target) final {
    return isBlock(value) ? require(value, own(target)) : scalars_.lookup(value);
  }

  const AxisAnalysis &axes_;
  const GpuTarget &target_;
  const LayoutChoice &choice_;
  llvm::DenseMap<Value, Value> primary_;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> made_;
  llvm::DenseMap<Operation *, Operation *> placeOf_;
  llvm::SmallVector<Operation *> markers_;
};

} // namespace

LogicalResult assignLayouts(func::FuncOp function, const GpuTarget &target,
                            const GpuOptions &options) {
  formScaledDots(function, target);
  narrowDotOperands(function);
  widenDotOperands(function, target);
  keepDotSumsWide(function);
  foldSumsIntoDots(function, target, options.numWarps);
  splitDots(function, target, options.numWarps);
  markReductionsInAnyOrder(function);
  const AxisAnalysis axes(function);
  axes.requireOfArguments();
  const LayoutChoice choice(function, axes, target, options);
  LayoutAssigner(function, axes, target, choice).rewrite();
  function.erase();
  return success();
}

} // namespace blockscope::gpu
