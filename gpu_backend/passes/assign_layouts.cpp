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
#include "gpu_backend/passes/layout_choice.h"
#include "gpu_backend/passes/passes.h"
#include "gpu_backend/passes/scaled_dots.h"
#include "gpu_backend/passes/shape_transfer.h"
#include "gpu_backend/passes/split_dots.h"

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

class LayoutAssigner {
public:
  LayoutAssigner(func::FuncOp function, const AxisAnalysis &axes, const GpuTarget &target,
                 const LayoutChoice &choice)
      : old_(function), axes_(axes), target_(target), choice_(choice),
        builder_(function.getContext()) {}

  func::FuncOp rewrite() {
    builder_.setInsertionPoint(old_);
    auto function = cast<func::FuncOp>(builder_.cloneWithoutRegions(*old_.getOperation()));
    Block *block = function.addEntryBlock();
    for (auto [before, after] : llvm::zip(old_.getArguments(), block->getArguments())) {
      after.setLoc(before.getLoc());
      scalars_.map(before, after);
    }
    builder_.setInsertionPointToStart(block);
    rewriteBlock(old_.getBody().front());
    func::ReturnOp::create(builder_, old_.getBody().front().getTerminator()->getLoc());
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

  void define(Value value, Value made) {
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
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        state.attributes.set("value", SplatElementsAttr::get(cast<ShapedType>(types[0]),
                                                             splat.getSplatValue<Attribute>()));
    for (Region &region : op->getRegions()) {
      IRMapping mapping;
      region.cloneInto(state.addRegion(), mapping);
    }
    Operation *made = builder_.create(state);
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

  void rewriteBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      rewriteOp(&op);
  }

  void rewriteOp(Operation *op) {
    if (op->getNumResults() == 1 && choice_.isCheap(op->getResult(0))) {
      // Made where it is wanted, but placed here: what it uses is before, what uses it after.
      auto marker = arith::ConstantOp::create(builder_, op->getLoc(), builder_.getBoolAttr(false));
      markers_.push_back(marker);
      placeOf_[op] = marker;
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return rewriteFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return rewriteWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return rewriteIf(branch);
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
        operand = choice_.fallback(op->getOperand(0));
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

  Type typeOf(Value value) {
    return isBlock(value) ? Type(tlg::withLayout(value.getType(), own(value))) : value.getType();
  }

  llvm::SmallVector<Type> typesOf(ValueRange values) {
    llvm::SmallVector<Type> types;
    for (Value value : values)
      types.push_back(typeOf(value));
    return types;
  }

  /// `values` in the layouts of the variables they go into.
  llvm::SmallVector<Value> inLayoutsOf(ValueRange values, ValueRange variables) {
    llvm::SmallVector<Value> result;
    for (auto [value, variable] : llvm::zip(values, variables))
      result.push_back(isBlock(value) ? require(value, own(variable)) : scalars_.lookup(value));
    return result;
  }

  Block *beginRegion(Region &region, ValueRange oldArguments) {
    Block *block = region.empty() ? &region.emplaceBlock() : &region.front();
    if (block->getNumArguments() == 0)
      for (Value argument : oldArguments)
        block->addArgument(typeOf(argument), argument.getLoc());
    for (auto [before, after] : llvm::zip(oldArguments, block->getArguments()))
      define(before, after);
    builder_.setInsertionPointToEnd(block);
    return block;
  }

  void rewriteFor(scf::ForOp loop) {
    OperationState state(loop.getLoc(), loop->getName());
    state.addOperands({scalars_.lookup(loop.getLowerBound()), scalars_.lookup(loop.getUpperBound()),
                       scalars_.lookup(loop.getStep())});
    state.addOperands(inLayoutsOf(loop.getInitArgs(), loop.getRegionIterArgs()));
    state.addTypes(typesOf(loop.getRegionIterArgs()));
    state.addAttributes(loop->getAttrs());
    state.addRegion();
    Operation *made = builder_.create(state);
    {
      const OpBuilder::InsertionGuard guard(builder_);
      beginRegion(made->getRegion(0), loop.getBody()->getArguments());
      rewriteBlock(*loop.getBody());
      scf::YieldOp::create(builder_, loop.getBody()->getTerminator()->getLoc(),
                           inLayoutsOf(loop.getYieldedValues(), loop.getRegionIterArgs()));
    }
    defineResults(loop, made, loop.getRegionIterArgs());
  }

  /// Results have the layout of the loop's variables; where another was chosen, it is converted to.
  void defineResults(Operation *op, Operation *made, ValueRange) {
    for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
      define(before, after);
  }

  void rewriteWhile(scf::WhileOp loop) {
    OperationState state(loop.getLoc(), loop->getName());
    state.addOperands(inLayoutsOf(loop.getInits(), loop.getBeforeArguments()));
    state.addTypes(typesOf(loop.getAfterArguments()));
    state.addAttributes(loop->getAttrs());
    state.addRegion();
    state.addRegion();
    Operation *made = builder_.create(state);
    {
      const OpBuilder::InsertionGuard guard(builder_);
      beginRegion(made->getRegion(0), loop.getBeforeArguments());
      rewriteBlock(*loop.getBeforeBody());
      auto condition = loop.getConditionOp();
      scf::ConditionOp::create(builder_, condition.getLoc(),
                               scalars_.lookup(condition.getCondition()),
                               inLayoutsOf(condition.getArgs(), loop.getAfterArguments()));
      beginRegion(made->getRegion(1), loop.getAfterArguments());
      rewriteBlock(*loop.getAfterBody());
      scf::YieldOp::create(builder_, loop.getYieldOp().getLoc(),
                           inLayoutsOf(loop.getYieldOp().getOperands(), loop.getBeforeArguments()));
    }
    defineResults(loop, made, loop.getAfterArguments());
  }

  void rewriteIf(scf::IfOp branch) {
    OperationState state(branch.getLoc(), branch->getName());
    state.addOperands(scalars_.lookup(branch.getCondition()));
    state.addTypes(typesOf(branch.getResults()));
    state.addAttributes(branch->getAttrs());
    state.addRegion();
    state.addRegion();
    Operation *made = builder_.create(state);
    for (auto [i, region] : llvm::enumerate(branch->getRegions())) {
      if (region.empty())
        continue;
      const OpBuilder::InsertionGuard guard(builder_);
      beginRegion(made->getRegion(i), {});
      rewriteBlock(region.front());
      scf::YieldOp::create(
          builder_, region.front().getTerminator()->getLoc(),
          inLayoutsOf(region.front().getTerminator()->getOperands(), branch.getResults()));
    }
    defineResults(branch, made, branch.getResults());
  }

  func::FuncOp old_;
  const AxisAnalysis &axes_;
  const GpuTarget &target_;
  const LayoutChoice &choice_;
  OpBuilder builder_;
  IRMapping scalars_;
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
  foldSumsIntoDots(function, target);
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
