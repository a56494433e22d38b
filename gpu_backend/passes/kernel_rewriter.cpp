// The function, its loops and its branches; what becomes of other ops the passes say.
#include "gpu_backend/passes/kernel_rewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace blockscope::gpu {

KernelRewriter::KernelRewriter(func::FuncOp function)
    : old_(function), builder_(function.getContext()) {}

KernelRewriter::~KernelRewriter() = default;

func::FuncOp KernelRewriter::rewriteFunction(llvm::function_ref<void()> begin) {
  builder_.setInsertionPoint(old_);
  auto function = cast<func::FuncOp>(builder_.cloneWithoutRegions(*old_.getOperation()));
  Block *block = function.addEntryBlock();
  for (auto [before, after] : llvm::zip(old_.getArguments(), block->getArguments())) {
    after.setLoc(before.getLoc());
    scalars_.map(before, after);
  }
  builder_.setInsertionPointToStart(block);
  if (begin)
    begin();
  rewriteBlock(old_.getBody().front());
  func::ReturnOp::create(builder_, old_.getBody().front().getTerminator()->getLoc());
  return function;
}

Operation *KernelRewriter::createAgain(Operation *op, ValueRange operands, TypeRange types) {
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      state.attributes.set("value", SplatElementsAttr::get(cast<ShapedType>(types[0]),
                                                           splat.getSplatValue<Attribute>()));
  for (Region &region : op->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  return builder_.create(state);
}

void KernelRewriter::rewriteBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      rewriteFor(loop);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      rewriteWhile(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      rewriteIf(branch);
    else
      rewriteOp(&op);
  }
}

llvm::SmallVector<Type> KernelRewriter::newTypes(ValueRange values) {
  llvm::SmallVector<Type> types;
  for (Value value : values)
    types.push_back(newType(value));
  return types;
}

llvm::SmallVector<Value> KernelRewriter::newValues(ValueRange values, ValueRange targets) {
  llvm::SmallVector<Value> result;
  for (auto [value, target] : llvm::zip(values, targets))
    result.push_back(newValue(value, target));
  return result;
}

void KernelRewriter::defineAll(ValueRange before, ValueRange after) {
  for (auto [old, made] : llvm::zip(before, after))
    define(old, made);
}

void KernelRewriter::beginRegion(Region &region, ValueRange oldArguments) {
  Block *block = region.empty() ? &region.emplaceBlock() : &region.front();
  if (block->getNumArguments() == 0)
    for (Value argument : oldArguments)
      block->addArgument(newType(argument), argument.getLoc());
  builder_.setInsertionPointToEnd(block);
  defineAll(oldArguments, block->getArguments());
}

void KernelRewriter::rewriteFor(scf::ForOp loop) {
  OperationState state(loop.getLoc(), loop->getName());
  state.addOperands({scalars_.lookup(loop.getLowerBound()), scalars_.lookup(loop.getUpperBound()),
                     scalars_.lookup(loop.getStep())});
  state.addOperands(newValues(loop.getInitArgs(), loop.getRegionIterArgs()));
  state.addTypes(newTypes(loop.getRegionIterArgs()));
  state.addAttributes(loop->getAttrs());
  state.addRegion();
  Operation *made = builder_.create(state);
  {
    const OpBuilder::InsertionGuard guard(builder_);
    beginRegion(made->getRegion(0), loop.getBody()->getArguments());
    rewriteBlock(*loop.getBody());
    scf::YieldOp::create(builder_, loop.getBody()->getTerminator()->getLoc(),
                         newValues(loop.getYieldedValues(), loop.getRegionIterArgs()));
  }
  defineAll(loop.getResults(), made->getResults());
}

void KernelRewriter::rewriteWhile(scf::WhileOp loop) {
  OperationState state(loop.getLoc(), loop->getName());
  state.addOperands(newValues(loop.getInits(), loop.getBeforeArguments()));
  state.addTypes(newTypes(loop.getAfterArguments()));
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
                             newValues(condition.getArgs(), loop.getAfterArguments()));
    beginRegion(made->getRegion(1), loop.getAfterArguments());
    rewriteBlock(*loop.getAfterBody());
    scf::YieldOp::create(builder_, loop.getYieldOp().getLoc(),
                         newValues(loop.getYieldOp().getOperands(), loop.getBeforeArguments()));
  }
  defineAll(loop.getResults(), made->getResults());
}

void KernelRewriter::rewriteIf(scf::IfOp branch) {
  OperationState state(branch.getLoc(), branch->getName());
  state.addOperands(scalars_.lookup(branch.getCondition()));
  state.addTypes(newTypes(branch.getResults()));
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
        newValues(region.front().getTerminator()->getOperands(), branch.getResults()));
  }
  defineAll(branch.getResults(), made->getResults());
}

} // namespace blockscope::gpu
