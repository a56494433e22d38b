// Backward walk from a value to the loop's variables, and through what they become.
#include "gpu_backend/pipelining/loop_slice.h"

#include "gpu_backend/ir/tlg_dialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace blockscope::gpu {
namespace {

/// Divisions are pure but where the divisor is zero.
bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

/// Divides by one where there is no iteration: the loop would not have divided.
void makeSafe(OpBuilder &builder, Operation *division, Value exists) {
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(division);
  Value divisor = division->getOperand(1);
  const Type type = divisor.getType();
  const Attribute number = builder.getIntegerAttr(getElementTypeOrSelf(type), 1);
  const auto shaped = dyn_cast<ShapedType>(type);
  Value one = arith::ConstantOp::create(
      builder, division->getLoc(),
      shaped ? cast<TypedAttr>(DenseElementsAttr::get(shaped, number)) : cast<TypedAttr>(number));
  division->setOperand(1,
                       arith::SelectOp::create(builder, division->getLoc(), exists, divisor, one));
}

} // namespace

bool LoopSlice::add(scf::ForOp loop, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument == loop.getInductionVar())
      return true;
    if (argument.getOwner() != loop.getBody()) {
      outside.insert(value);
      return !loop->isProperAncestor(argument.getOwner()->getParentOp());
    }
    const unsigned variable = argument.getArgNumber() - 1;
    if (isOfOneIteration) {
      variables.insert(variable);
      return true;
    }
    outside.insert(loop.getInitArgs()[variable]);
    return !variables.insert(variable) || add(loop, loop.getYieldedValues()[variable]);
  }
  Operation *op = value.getDefiningOp();
  if (!loop->isProperAncestor(op)) {
    outside.insert(value);
    return true;
  }
  if (isGiven(loop, op))
    return true;
  for (Operation *outer = op->getParentOp(); outer != loop; outer = outer->getParentOp())
    if (!isa<scf::IfOp>(outer))
      return false;
  if (isa<scf::IfOp>(op))
    return addIf(loop, cast<OpResult>(value));
  if (op->getNumRegions() != 0)
    return false;
  if (auto load = dyn_cast<tl::LoadOp>(op)) {
    if (load.getIsVolatile())
      return false;
    if (op->getBlock() == loop.getBody() && !isOfOneIteration) {
      loads.insert(op);
      return true;
    }
    madeLoads.insert(op);
  } else if (!isPure(op) && !isDivision(op)) {
    return false;
  }
  return !ops.insert(op) ||
         llvm::all_of(op->getOperands(), [&](Value operand) { return add(loop, operand); });
}

bool LoopSlice::isGiven(scf::ForOp loop, Operation *op) const {
  Operation *own = given ? loop.getBody()->findAncestorOpInBlock(*op) : nullptr;
  return own && (own == given || own->isBeforeInBlock(given));
}

bool LoopSlice::addIf(scf::ForOp loop, OpResult result) {
  auto op = cast<scf::IfOp>(result.getOwner());
  const unsigned number = result.getResultNumber();
  if (llvm::is_contained(results_[op], number))
    return true;
  results_[op].push_back(number);
  ops.insert(op);
  return add(loop, op.getCondition()) && add(loop, op.thenYield().getOperand(number)) &&
         add(loop, op.elseYield().getOperand(number));
}

bool LoopSlice::addOperandsOf(scf::ForOp loop, tl::LoadOp load) {
  return llvm::all_of(load->getOperands(), [&](Value operand) { return add(loop, operand); });
}

/// Where and for what the ops are made again.
struct LoopSlice::Clones {
  OpBuilder &builder;
  scf::ForOp loop;
  IRMapping &mapping;
  Value exists; ///< as in Iteration
  bool isInLoop;
};

void LoopSlice::clone(OpBuilder &builder, scf::ForOp loop, IRMapping &mapping,
                      const Iteration &iteration) const {
  mapping.map(loop.getInductionVar(), iteration.counter);
  const bool isInLoop = builder.getInsertionBlock() == loop.getBody();
  cloneBlock(*loop.getBody(), {builder, loop, mapping, iteration.exists, isInLoop});
}

void LoopSlice::cloneBlock(Block &block, const Clones &to) const {
  llvm::SmallVector<Operation *> inOrder; // the block may grow
  for (Operation &op : block.without_terminator())
    if (ops.contains(&op))
      inOrder.push_back(&op);
  for (Operation *op : inOrder) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      cloneIf(branch, to);
      continue;
    }
    if (auto load = dyn_cast<tl::LoadOp>(op)) {
      to.mapping.map(load.getResult(), makeLoad(to.builder, load, to.mapping, to.exists));
      continue;
    }
    Operation *made = to.builder.clone(*op, to.mapping);
    // What the iterations divide by in common, this one has divided by; ptxas takes its reciprocal
    // before the loop.
    scf::ForOp loop = to.loop;
    const bool isSafe =
        isPure(op) || (to.isInLoop && loop.isDefinedOutsideOfLoop(op->getOperand(1)));
    if (to.exists && !isSafe)
      makeSafe(to.builder, made, to.exists);
  }
}

void LoopSlice::cloneIf(scf::IfOp op, const Clones &to) const {
  const llvm::SmallVector<unsigned, 4> &numbers = results_.find(op)->second;
  llvm::SmallVector<Type> types;
  for (const unsigned number : numbers)
    types.push_back(op.getResult(number).getType());
  auto made = scf::IfOp::create(to.builder, op.getLoc(), types,
                                to.mapping.lookupOrDefault(op.getCondition()),
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  const auto fill = [&](Block *from, Block *block) {
    const OpBuilder::InsertionGuard guard(to.builder);
    to.builder.setInsertionPointToStart(block);
    cloneBlock(*from, to);
    llvm::SmallVector<Value> yields;
    for (const unsigned number : numbers)
      yields.push_back(to.mapping.lookupOrDefault(from->getTerminator()->getOperand(number)));
    scf::YieldOp::create(to.builder, op.getLoc(), yields);
  };
  fill(op.thenBlock(), made.thenBlock());
  fill(op.elseBlock(), made.elseBlock());
  for (auto [number, result] : llvm::zip_equal(numbers, made.getResults()))
    to.mapping.map(op.getResult(number), result);
}

tl::LoadOp makeLoad(OpBuilder &builder, tl::LoadOp load, IRMapping &mapping, Value exists) {
  const auto now = [&](Value value) { return value ? mapping.lookupOrDefault(value) : Value(); };
  Value mask = now(load.getMask());
  if (exists) {
    Value all = exists;
    if (auto type = dyn_cast<RankedTensorType>(load.getPointer().getType()))
      all = tl::SplatOp::create(
          builder, load.getLoc(),
          RankedTensorType::get(type.getShape(), builder.getI1Type(), type.getEncoding()), exists);
    mask = mask ? arith::AndIOp::create(builder, load.getLoc(), all, mask).getResult() : all;
  }
  auto made = tl::LoadOp::create(builder, load.getLoc(), load.getType(), now(load.getPointer()),
                                 mask, now(load.getOther()), load.getCacheModifierAttr(),
                                 load.getEvictionPolicyAttr(), load.getIsVolatileAttr());
  for (const llvm::StringRef name : {tlg::kVectorAttribute, tlg::kEqualRunsAttribute})
    if (Attribute value = load->getAttr(name))
      made->setAttr(name, value);
  return made;
}

} // namespace blockscope::gpu
