// Rewrites a kernel op by op, each block as the part of it that a CTA has.
//
// The new function is built beside the old one. First the parts that are asked for are collected,
// from uses to definitions; then each op is made in its part, and what others want of its result is
// made behind it: cheap blocks anew, all else by an exchange.
#include "gpu_backend/passes/split_cluster.h"

#include "core/ir/facts.h"
#include "core/ir/tl_dialect.h"
#include "gpu_backend/ir/tlg_dialect.h"
#include "gpu_backend/passes/block_queries.h"
#include "gpu_backend/passes/cluster_choice.h"
#include "gpu_backend/passes/kernel_rewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

llvm::StringRef orderOf(Operation *atomic) {
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(atomic)
      .Case<tl::AtomicRmwOp, tl::AtomicCasOp, tl::AtomicLoadOp, tl::AtomicStoreOp>(
          [](auto op) { return op.getSem(); })
      .Default(llvm::StringRef("relaxed"));
}

class ClusterSplitter : public KernelRewriter {
public:
  ClusterSplitter(func::FuncOp function, const ClusterChoice &choice, int numCtas)
      : KernelRewriter(function), choice_(choice), numCtas_(numCtas) {}

  func::FuncOp rewrite() {
    collect(old_.getBody().front());
    return rewriteFunction([&] {
      rank_ = tlg::ClusterRankOp::create(builder_, old_.getLoc(), builder_.getI32Type());
    });
  }

private:
  // -- what is asked for --------------------------------------------------------------------------

  void ask(Value value, Split split) {
    if (isBlock(value))
      wanted_[value].insert(split);
  }

  /// How the variable or result is split that `value` flows into.
  void askAsIn(ValueRange values, ValueRange targets) {
    for (auto [value, target] : llvm::zip(values, targets))
      if (isBlock(value))
        ask(value, choice_.of(target));
  }

  /// From the last op of a block to the first.
  void collect(Block &block) {
    for (Operation &op : llvm::reverse(block)) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        askAsIn(loop.getYieldedValues(), loop.getRegionIterArgs());
        collect(*loop.getBody());
        askAsIn(loop.getInitArgs(), loop.getRegionIterArgs());
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        askAsIn(loop.getYieldOp().getOperands(), loop.getBeforeArguments());
        collect(*loop.getAfterBody());
        askAsIn(loop.getConditionOp().getArgs(), loop.getAfterArguments());
        collect(*loop.getBeforeBody());
        askAsIn(loop.getInits(), loop.getBeforeArguments());
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        for (Region &region : op.getRegions())
          if (!region.empty()) {
            askAsIn(region.front().getTerminator()->getOperands(), branch.getResults());
            collect(region.front());
          }
      } else if (!op.hasTrait<OpTrait::IsTerminator>()) {
        collectOperands(&op);
      }
    }
  }

  void collectOperands(Operation *op) {
    const auto askFor = [&](Split split) {
      for (auto [i, operand] : llvm::enumerate(op->getOperands()))
        ask(operand, operandSplit(op, static_cast<unsigned>(i), split));
    };
    if (op->getNumResults() == 1 && choice_.isCheap(op->getResult(0)))
      for (const Split split : wanted_[op->getResult(0)])
        askFor(split);
    else
      askFor(choice_.ofOp(op));
  }

  // -- old values in new form ---------------------------------------------------------------------

  Type partOf(Type type, Split split) const {
    auto block = cast<RankedTensorType>(type);
    llvm::SmallVector<int64_t> shape(block.getShape());
    if (split != kWhole)
      shape[split] /= numCtas_;
    return RankedTensorType::get(shape, block.getElementType());
  }

  Value part(Value value, Split split) {
    if (!isBlock(value))
      return scalars_.lookup(value);
    Value made = parts_.lookup({value, split});
    assert(made && "a part is used that was not made");
    return made;
  }

  Value newValue(Value value, Value target) final {
    return part(value, isBlock(value) ? choice_.of(target) : kWhole);
  }

  /// Notes `made`, the part `split` of a block, and makes the others that are wanted behind it.
  void define(Value value, Value made, Split split) {
    if (!isBlock(value)) {
      scalars_.map(value, made);
      return;
    }
    parts_[{value, split}] = made;
    for (const Split other : wanted_[value])
      if (other != split)
        parts_[{value, other}] = exchange(made, split, other, value.getType(), value.getLoc());
  }

  Value exchange(Value value, Split from, Split to, Type whole, Location location) {
    return tlg::ClusterExchangeOp::create(builder_, location, partOf(whole, to), value, from, to);
  }

  Value i32(Location location, int64_t value) {
    return arith::ConstantOp::create(builder_, location, builder_.getI32IntegerAttr(value));
  }

  Value isFirstCta(Location location) {
    return arith::CmpIOp::create(builder_, location, arith::CmpIPredicate::eq, rank_,
                                 i32(location, 0));
  }

  // -- ops ----------------------------------------------------------------------------------------

  void rewriteOp(Operation *op) final {
    if (op->getNumResults() == 1 && choice_.isCheap(op->getResult(0))) {
      for (const Split split : wanted_[op->getResult(0)])
        parts_[{op->getResult(0), split}] = remake(op, split);
      return;
    }
    if (auto reduce = dyn_cast<tl::ReduceOp>(op))
      return rewriteReduce(reduce);
    if (tl::isAtomic(op) || isa<tl::GlobalTimerOp>(op)) // CTAs take the same branches by a clock
      return rewriteAtomic(op);
    const Split split = choice_.ofOp(op);
    Operation *made = create(op, split);
    if (isa<tl::StoreOp>(op) && split == kWhole)
      storeOnce(cast<tl::StoreOp>(made));
    if (isa<tl::LoadOp>(op) && isBlock(op->getResult(0)) && split == kWhole)
      made->setAttr(tlg::kSharedByCtasAttribute, builder_.getUnitAttr());
    if (isa<tl::BarrierOp>(op))
      tlg::ClusterBarrierOp::create(builder_, op->getLoc());
    for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
      define(before, after, split);
  }

  /// What all CTAs have is stored by the first one.
  void storeOnce(tl::StoreOp store) {
    const OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPoint(store);
    Value mask = isFirstCta(store.getLoc());
    if (isBlock(store.getPointer()))
      mask = tl::SplatOp::create(
          builder_, store.getLoc(),
          RankedTensorType::get(blockType(store.getPointer()).getShape(), builder_.getI1Type()),
          mask);
    if (store.getMask())
      mask = arith::AndIOp::create(builder_, store.getLoc(), store.getMask(), mask);
    store.getMaskMutable().assign(mask);
  }

  /// The op on parts: its operands as `split` wants them.
  Operation *create(Operation *op, Split split) {
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(part(operand, operandSplit(op, static_cast<unsigned>(i), split)));
    llvm::SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(isa<RankedTensorType>(type) ? partOf(type, resultSplit(op, split)) : type);
    return createAgain(op, operands, types);
  }

  // -- cheap blocks -------------------------------------------------------------------------------

  Value remake(Operation *op, Split split) {
    if (split != kWhole) {
      if (auto range = dyn_cast<tl::RangeOp>(op))
        return shifted(partOfRange(range), firstOf(range), range.getLoc());
      if (Value index = remakeWideIndex(op, split))
        return index;
    }
    Operation *made = create(op, split);
    if (auto hint = dyn_cast<tl::HintOp>(made); hint && split != kWhole)
      shortenRuns(hint, split);
    return made->getResult(0);
  }

  /// The numbers of a part without those of the CTAs before it.
  Value partOfRange(tl::RangeOp range) {
    const auto length =
        static_cast<int32_t>(blockType(range.getResult()).getNumElements() / numCtas_);
    const auto start = static_cast<int32_t>(range.getStart());
    return tl::RangeOp::create(builder_, range.getLoc(), partOf(range.getType(), 0), start,
                               start + length);
  }

  /// How many numbers the CTAs before have.
  Value firstOf(tl::RangeOp range) {
    const int64_t length = blockType(range.getResult()).getNumElements() / numCtas_;
    return arith::MulIOp::create(builder_, range.getLoc(), rank_, i32(range.getLoc(), length));
  }

  Value shifted(Value block, Value scalar, Location location) {
    Value all = tl::SplatOp::create(builder_, location, block.getType(), scalar);
    return arith::AddIOp::create(builder_, location, block, all);
  }

  /// `start + range` in 64 bits, as indices of descriptors and block pointers are: what is before
  /// the part goes into the start, in 32 bits, as TMA wants it (passes/rectangular_tile).
  Value remakeWideIndex(Operation *op, Split split) {
    if (auto sum = dyn_cast<arith::AddIOp>(op)) {
      for (const auto [a, b] :
           {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
        auto start = a.getDefiningOp<tl::SplatOp>();
        auto widened = start ? start.getSource().getDefiningOp<arith::ExtSIOp>() : arith::ExtSIOp();
        const std::optional<WideRange> range = wideRange(b, split);
        if (widened && widened.getIn().getType().isInteger(32) && range)
          return makeWideIndex(*range, scalars_.lookup(widened.getIn()));
      }
      return {};
    }
    if (const std::optional<WideRange> range = wideRange(op->getResult(0), split))
      return makeWideIndex(*range, {});
    return {};
  }

  /// A range that is made wide: the ops from it on, up to the value itself.
  struct WideRange {
    tl::RangeOp range;
    llvm::SmallVector<std::pair<Operation *, Split>> ops;
  };

  static std::optional<WideRange> wideRange(Value value, Split split) {
    WideRange result;
    bool isWidened = false;
    for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
      if (split == kWhole)
        return std::nullopt;
      if (auto range = dyn_cast<tl::RangeOp>(op)) {
        if (!isWidened)
          return std::nullopt;
        result.range = range;
        return result;
      }
      if (!isa<arith::ExtSIOp, tl::ExpandDimsOp, tl::BroadcastOp>(op))
        return std::nullopt;
      isWidened |= isa<arith::ExtSIOp>(op);
      result.ops.emplace_back(op, split);
      split = operandSplit(op, 0, split);
    }
    return std::nullopt;
  }

  Value makeWideIndex(const WideRange &range, Value start) {
    Value made = partOfRange(range.range);
    for (auto [op, split] : llvm::reverse(range.ops))
      made = createAgain(op, {made}, {partOf(op->getResult(0).getType(), split)})->getResult(0);
    tl::RangeOp source = range.range;
    Value first = firstOf(source);
    if (start)
      first = arith::AddIOp::create(builder_, source.getLoc(), start, first);
    first = arith::ExtSIOp::create(builder_, source.getLoc(), builder_.getI64Type(), first);
    Value all = tl::SplatOp::create(builder_, source.getLoc(), made.getType(), first);
    return arith::AddIOp::create(builder_, source.getLoc(), all, made);
  }

  /// A claim of runs holds for as much of them as a part has.
  void shortenRuns(tl::HintOp hint, Split split) {
    llvm::SmallVector<int64_t> values(hint.getValues());
    if (split < static_cast<Split>(values.size()))
      values[split] = std::gcd(values[split], blockType(hint.getResult()).getDimSize(split));
    hint.setValues(values);
  }

  // -- reductions and atomics ---------------------------------------------------------------------

  /// Along the dimension that CTAs share: each reduces its part, then all reduce what came out.
  void rewriteReduce(tl::ReduceOp reduce) {
    const Split split = choice_.ofOp(reduce);
    Operation *made = create(reduce, split);
    if (split != static_cast<Split>(reduce.getAxis())) {
      for (auto [before, after] : llvm::zip(reduce.getResults(), made->getResults()))
        define(before, after, resultSplit(reduce, split));
      return;
    }
    const Location location = reduce.getLoc();
    llvm::SmallVector<Value> all;
    for (Value partial : made->getResults()) {
      if (isBlock(partial)) {
        llvm::SmallVector<int64_t> shape(blockType(partial).getShape());
        shape.insert(shape.begin(), 1);
        partial = tl::ExpandDimsOp::create(
            builder_, location, RankedTensorType::get(shape, blockType(partial).getElementType()),
            partial, 0);
      } else {
        partial = tl::SplatOp::create(builder_, location,
                                      RankedTensorType::get({1}, partial.getType()), partial);
      }
      llvm::SmallVector<int64_t> shape(blockType(partial).getShape());
      shape[0] = numCtas_;
      all.push_back(tlg::ClusterExchangeOp::create(
          builder_, location, RankedTensorType::get(shape, blockType(partial).getElementType()),
          partial, /*from=*/0, /*to=*/kWhole));
    }
    OperationState state(location, reduce->getName(), all, reduce->getResultTypes(),
                         reduce->getAttrs());
    state.attributes.set("axis", builder_.getI32IntegerAttr(0));
    IRMapping mapping;
    reduce.getCombine().cloneInto(state.addRegion(), mapping);
    Operation *combined = builder_.create(state);
    for (auto [before, after] : llvm::zip(reduce.getResults(), combined->getResults()))
      define(before, after, kWhole);
  }

  /// An atomic of what all CTAs have is done by the first one, which tells the others what it has
  /// found. Its order covers all of them: they meet before what releases, and behind what acquires.
  void rewriteAtomic(Operation *op) {
    const Split split = choice_.ofOp(op);
    const llvm::StringRef order = orderOf(op);
    const Location location = op->getLoc();
    if (order == "release" || order == "acq_rel")
      tlg::ClusterBarrierOp::create(builder_, location);
    const bool acquires = !op->use_empty() && (order == "acquire" || order == "acq_rel");
    if (split != kWhole) {
      Operation *made = create(op, split);
      if (acquires)
        tlg::ClusterBarrierOp::create(builder_, location);
      for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
        define(before, after, split);
      return;
    }
    auto branch = scf::IfOp::create(builder_, location, op->getResultTypes(), isFirstCta(location),
                                    /*withElseRegion=*/op->getNumResults() != 0);
    {
      const OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(branch.thenBlock());
      Operation *made = create(op, kWhole);
      if (op->getNumResults() != 0) {
        scf::YieldOp::create(builder_, location, made->getResults());
        builder_.setInsertionPointToStart(branch.elseBlock());
        Value zero = arith::ConstantOp::create(
            builder_, location, cast<TypedAttr>(builder_.getZeroAttr(op->getResultTypes()[0])));
        scf::YieldOp::create(builder_, location, zero);
      }
    }
    if (op->use_empty()) {
      for (auto [before, after] : llvm::zip(op->getResults(), branch.getResults()))
        define(before, after, kWhole);
      return;
    }
    Value found = branch.getResult(0);
    if (isBlock(found)) {
      define(op->getResult(0), fromFirst(found), kWhole);
      return;
    }
    found =
        tl::SplatOp::create(builder_, location, RankedTensorType::get({1}, found.getType()), found);
    define(op->getResult(0),
           tl::UnsplatOp::create(builder_, location, op->getResultTypes()[0], fromFirst(found)),
           kWhole);
  }

  Value fromFirst(Value block) {
    auto op = tlg::ClusterExchangeOp::create(builder_, block.getLoc(), block.getType(), block,
                                             kWhole, kWhole);
    op.setFromFirst(true);
    return op;
  }

  // -- control flow -------------------------------------------------------------------------------

  Type newType(Value value) final {
    return isBlock(value) ? partOf(value.getType(), choice_.of(value)) : value.getType();
  }

  void define(Value value, Value made) final {
    define(value, made, isBlock(value) ? choice_.of(value) : kWhole);
  }

  const ClusterChoice &choice_;
  int numCtas_;
  Value rank_; ///< the number of the CTA in its cluster
  llvm::DenseMap<Value, llvm::SmallSetVector<Split, 2>> wanted_;
  llvm::DenseMap<std::pair<Value, Split>, Value> parts_;
};

} // namespace

void splitCluster(func::FuncOp function, int numCtas) {
  const ClusterChoice choice(function, numCtas);
  if (!choice.obstacle().empty()) {
    function->setAttr(tlg::kNoClusterAttribute,
                      StringAttr::get(function.getContext(), choice.obstacle()));
    llvm::SmallVector<Attribute> places;
    for (Operation *op : choice.obstacleOps())
      places.push_back(LocationAttr(op->getLoc()));
    function->setAttr(tlg::kNoClusterAtAttribute, ArrayAttr::get(function.getContext(), places));
    return;
  }
  func::FuncOp made = ClusterSplitter(function, choice, numCtas).rewrite();
  made->setAttr(tlg::kClusterAttribute, Builder(function.getContext()).getI32IntegerAttr(numCtas));
  function.erase();
}

} // namespace blockscope::gpu
